#!/bin/sh
# Builds the small JNI library of the `jni` workload: build-native.sh OUT_DIR JAVA_HOME
# It is optional: what is missing is said in one line and the build goes on.
set -eu
out=$1
java_home=$2
source=$(dirname "$0")/src/main/native/native_locks.c
cc=${CC:-cc}
if ! command -v "$cc" >/dev/null 2>&1; then
  echo "no C compiler ($cc): the jni workload will not be available"
  exit 0
fi
if [ ! -f "$java_home/include/jni.h" ]; then
  echo "no jni.h under $java_home/include: the jni workload will not be available"
  exit 0
fi
mkdir -p "$out"
"$cc" -O2 -g -Wall -Wextra -Werror -fPIC -shared -fno-omit-frame-pointer \
  -I "$java_home/include" -I "$java_home/include/linux" \
  -o "$out/libheadwayworkloads.so.new" "$source"
mv "$out/libheadwayworkloads.so.new" "$out/libheadwayworkloads.so"
