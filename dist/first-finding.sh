#!/bin/sh
# From an archive to the first finding, on a system that has nothing but a Java runtime.
#
#   first-finding.sh ROOT ARCHIVE SECONDS
#
# ROOT is a directory with the runtime in /jre, the program's classes in /app, the C library and a
# writable /tmp, and no shell. To be called by root in mount, pid and network namespaces that were
# just made: program and profiler run below ROOT, as an unprivileged user, without network.
set -eu

root=$1
archive=$2
seconds=$3
nobody=65534:65534

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"

inside() {
  chroot --userspec "$nobody" "$root" "$@"
}

chroot --userspec "$nobody" "$root" /jre/bin/java -cp /app Contended 600 &
program=$!
waited=0
until cat "$root/proc/$program"/task/*/comm 2>/dev/null | grep -q '^reader-1$'; do
  waited=$((waited + 1))
  if [ "$waited" -ge 300 ]; then
    echo "the program does not start" >&2
    exit 1
  fi
  sleep 0.1
done

begin=$(date +%s)
tar -xzf "$archive" -C "$root/opt" --strip-components 1
echo "\$ /opt/bin/headway --version"
inside /opt/bin/headway --version
echo "\$ /opt/bin/headway record -d $seconds -o /tmp/first.jfr $program"
inside /opt/bin/headway record -d "$seconds" -o /tmp/first.jfr "$program" 2>&1
end=$(date +%s)
kill "$program"
wait "$program" || true
rm "$root/tmp/first.jfr"
echo "left in /tmp: $(find "$root/tmp" -mindepth 1 | tr '\n' ' ')"
echo "from unpacking to the report: $((end - begin)) s"
