#!/bin/sh
# The commands by which the README installs a release, as they stand there.
#
#   readme-install.sh ROOT COMMANDS
#
# ROOT is a directory with a Java runtime in /jre, the program's classes in /app, the release's files
# in /download, the programs that install.sh needs in /bin, the C library, and nothing else. COMMANDS
# is a file. To be called by root in mount, pid and network namespaces that were just made. What is
# written is judged by crates/xtask/src/dist/readme.rs.
set -eu

root=$1
commands=$2
nobody=65534

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
: >"$root/dev/null"
mount --bind /dev/null "$root/dev/null"
mkdir -p "$root/home/somebody" "$root/usr/local"
chown "$nobody:$nobody" "$root/home/somebody"

inside() {
  user=$1
  chroot --userspec "$user:$user" "$root" /bin/sh -e -c "HOME=/home/somebody
PATH=/home/somebody/.local/bin:/usr/local/bin:/bin
export HOME PATH
cd /download
$2"
}

chroot --userspec "$nobody:$nobody" "$root" /jre/bin/java -cp /app Contended 600 &
program=$!
waited=0
until cat "$root/proc/$program"/task/*/comm 2>/dev/null | grep -q '^reader-1$'; do
  waited=$((waited + 1))
  if [ "$waited" -ge 1200 ]; then
    echo "the program does not start" >&2
    exit 1
  fi
  sleep 0.1
done

for user in 0 "$nobody"; do
  echo "user $user:"
  inside "$user" "$(cat "$commands")"
  inside "$user" "sh install.sh --remove"
done
kill "$program"
wait "$program" || true
echo "left: $(find "$root/home/somebody" "$root/usr/local" "$root/tmp" -type f | tr '\n' ' ')"
