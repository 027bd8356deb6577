#!/bin/sh
# Builds libclozejni.so: the shim and the whole C library in one file, which needs libc, libm and libgcc_s. Maven calls it.
#
#   build.sh OUTPUT JAVA_HOME        CLOZE_LIB: the folder of libcloze.a (target/clib/release unless set, where `make lib` puts it)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../../.." && pwd)
output=$1
java=$2
library=${CLOZE_LIB:-${CARGO_TARGET_DIR:-$root/target}/clib/release}/libcloze.a
[ -f "$library" ] || { echo "$library is missing: run \`make lib\`, or name the folder of libcloze.a in CLOZE_LIB" >&2; exit 1; }
[ -f "$java/include/jni.h" ] || { echo "$java has no include/jni.h: set JAVA_HOME to a JDK" >&2; exit 1; }
mkdir -p "$(dirname "$output")"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -Werror -pedantic -fPIC -fvisibility=hidden -shared -I"$root/include" -I"$java/include" -I"$java/include/linux" \
    "$here"/call.c "$here"/model.c "$here"/tasks.c "$here"/encode.c "$library" \
    -Wl,--version-script="$here/exports.map" -Wl,--gc-sections -Wl,-z,relro,-z,now -Wl,--no-undefined -Wl,-s -lm -lgcc_s -ldl -lpthread -o "$output"
