#!/bin/sh
# Makes the jars in CLOZE_PACKAGES and tries the first of them as a user would, in a clean folder. CLOZE_LIB and CLOZE_SCRATCH are as for test.sh.
set -eu
sh scripts/bootstrap.sh cc javac mvn
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$CLOZE_PACKAGES"/cloze-*.jar
mvn -B -q -f bindings/java/pom.xml -Dcloze.build="$work/maven" -DskipTests package </dev/null
cp "$work"/maven/cloze-*.jar "$CLOZE_PACKAGES"

cd "$work"
jar=$(ls "$CLOZE_PACKAGES"/cloze-*.jar | grep -v -e -sources -e -javadoc)
java -cp "$jar" "$root/bindings/java/examples/Search.java" "$root/tests/golden/models/tiny-gelu" "$root/examples/demo/passages.txt" "how much is postage" >said
grep -q '^ 1\. ' said
echo "package java: $(cd "$CLOZE_PACKAGES" && echo cloze-*.jar)"
