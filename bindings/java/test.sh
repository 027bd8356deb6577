#!/bin/sh
# Does the jar do what its README says? Called by scripts/bindings.sh, which says what the variables are. Builds and tests with the machine's JDK, and
# tests once more with the newest one that is installed beside it.
set -eu
sh scripts/bootstrap.sh cc javac mvn nm readelf
here="$PWD/bindings/java"
build="$CLOZE_SCRATCH/maven"
export CLOZE_LIB

status=0
maven() { mvn -B -q -Dstyle.color=never -f "$here/pom.xml" -Dcloze.build="$build" "$@" </dev/null || status=1; }

# Surefire's reports of all runs are added up.
reports="$CLOZE_SCRATCH/reports"
rm -rf "$reports" "$build/surefire-reports"
mkdir -p "$reports"
keep() { for file in "$build"/surefire-reports/*.txt; do [ -f "$file" ] && cp "$file" "$reports/$1-$(basename "$file")"; done; rm -rf "$build/surefire-reports"; }

maven package
keep first

# The library shows the shim's functions only, and needs what the C library needs.
for library in "$build"/classes/org/cloze/native/*/libclozejni.so; do
    shown=$(nm --dynamic --defined-only --format=posix "$library" | cut -d' ' -f1 | grep -v '^Java_org_cloze_Native_' || true)
    needed=$(readelf --wide --dynamic "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -x -e libc.so.6 -e libm.so.6 -e libgcc_s.so.1 -e 'ld-linux.*' || true)
    [ -z "$shown$needed" ] || { echo "java: $library shows $shown and needs $needed"; status=1; }
done

version() { "$1/bin/java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.specification.version = \([0-9.]*\).*/\1/p'; }
first=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
newest=$first
for java in "${JAVA_HOME:-$first}" /usr/lib/jvm/*; do
    [ -x "$java/bin/java" ] && [ "$(version "$java" | cut -d. -f1)" -gt "$(version "$newest" | cut -d. -f1)" ] && newest=$java
done
if [ "$newest" != "$first" ]; then
    echo "java: once more with Java $(version "$newest")"
    maven surefire:test -Djvm="$newest/bin/java" -Dcloze.jvm.arguments=--enable-native-access=ALL-UNNAMED
    keep newest
fi

sum() { cat "$reports"/*.txt 2>/dev/null | sed -n "s/^Tests run: .*$1: \([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n + 0 }'; }
all=$(cat "$reports"/*.txt 2>/dev/null | sed -n 's/^Tests run: \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
failed=$(($(sum Failures) + $(sum Errors)))
skipped=$(sum Skipped)
[ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
[ "$all" -gt 0 ] || failed=1
passed=$((all - failed - skipped))
[ "$passed" -ge 0 ] || passed=0
echo "binding java: $passed passed, $failed failed, $skipped skipped"
[ "$status" = 0 ]
