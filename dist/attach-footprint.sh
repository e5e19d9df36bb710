#!/bin/sh
# What the agent takes of memory in many JVMs.
#
#   attach-footprint.sh RELEASE JVMS
#
# RELEASE is a directory with an installed release and Idle.class. To be called by root in mount and
# pid namespaces that were just made: /tmp is covered with an empty tmpfs.
set -eu

release=/mnt
headway=$release/bin/headway
jvms=$2

mount -t proc proc /proc
mount --bind "$1" "$release" # it may lie below /tmp
mount -t tmpfs -o mode=1777 tmpfs /tmp


taken() {
  df -k --output=used /tmp | tail -n 1 | tr -d ' '
}

pids=
number=0
while [ "$number" -lt "$jvms" ]; do
  number=$((number + 1))
  java -Xmx16m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp "$release" Idle &
  pids="$pids $!"
done
for pid in $pids; do
  waited=0
  until grep -q libjava.so "/proc/$pid/maps" 2>/dev/null && grep -q '^Signal Dispatch' "/proc/$pid"/task/*/comm 2>/dev/null; do
    waited=$((waited + 1))
    if [ "$waited" -ge 3000 ] || ! kill -0 "$pid" 2>/dev/null; then
      echo "a JVM does not start" >&2
      exit 1
    fi
    sleep 0.1
  done
done

before=$(taken)
most=0
for pid in $pids; do
  "$headway" start -e monitor --memory 1m -o /dev/shm/headway-footprint-%p.jfr "$pid" >/dev/null
  [ "$(taken)" -le "$most" ] || most=$(taken)
done
pss=0
for pid in $pids; do
  own=$(awk '/^[0-9a-f]+-[0-9a-f]+ / { ours = /libheadway/ } ours && /^Pss:/ { sum += $2 } END { print sum + 0 }' "/proc/$pid/smaps")
  pss=$((pss + own))
done
echo "JVMs: $jvms, tmpfs: $((most - before)) KiB, proportional set size of the agent in all: $pss KiB"
for pid in $pids; do
  "$headway" stop --detach "$pid" >/dev/null 2>&1 || true
  kill "$pid"
done
for pid in $pids; do wait "$pid" || true; done
rm -f /dev/shm/headway-footprint-*.jfr
echo "left in /tmp: $(find /tmp -mindepth 1 | tr '\n' ' ')"
