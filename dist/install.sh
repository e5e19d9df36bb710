#!/bin/sh
# Unpacks a Headway archive that lies beside this script, after its SHA-256 sum was checked.
#
#   sh install.sh [--prefix DIRECTORY] [ARCHIVE]
#
# Default: /usr/local as root, else ~/.local. Nothing is downloaded and nothing else is changed;
# `sh install.sh --remove` takes out what was installed. The archive of headway-fleet, for many
# machines, has to be named.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit "${2:-1}"
}

prefix=
archive=
remove=
while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -ge 2 ] || fail "--prefix needs a directory" 2
      prefix=$2
      shift 2
      ;;
    --prefix=*)
      prefix=${1#--prefix=}
      shift
      ;;
    --remove)
      remove=yes
      shift
      ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    -*)
      fail "takes --prefix DIRECTORY, --remove and the name of an archive, not \"$1\"" 2
      ;;
    *)
      [ -z "$archive" ] || fail "takes one archive, not \"$archive\" and \"$1\"" 2
      archive=$1
      shift
      ;;
  esac
done

if [ -z "$prefix" ]; then
  if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?install.sh: HOME is not set: name a --prefix}/.local; fi
fi
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac

# Sets the folder of a program's documents, and its list of what the archive has, one name a line,
# which is written when it is installed.
of_program() {
  documents=$prefix/share/doc/$1
  list=$documents/FILES
}

remove_installed() {
  while IFS= read -r name; do
    rm -f "$prefix/$name"
  done <"$list"
  rm -f "$list"
  rmdir "$documents" 2>/dev/null || true
}

if [ -n "$remove" ]; then
  removed=
  for program in headway headway-fleet; do
    of_program "$program"
    if [ -f "$list" ]; then
      remove_installed
      removed=yes
    fi
  done
  [ -n "$removed" ] || fail "nothing is installed in $prefix; --prefix names another directory"
  echo "Headway is removed from $prefix."
  exit 0
fi

here=$(dirname "$0")
if [ -z "$archive" ]; then
  for found in "$here"/headway-[0-9]*-linux-x86_64.tar.gz; do
    [ -f "$found" ] || fail "no headway-VERSION-linux-x86_64.tar.gz beside this script: name one"
    [ -z "$archive" ] || fail "several archives beside this script: name one"
    archive=$found
  done
fi
[ -f "$archive" ] || fail "there is no file $archive"
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || fail "Headway runs on Linux x86_64, this is $(uname -s) $(uname -m)"

sums=$(dirname "$archive")/SHA256SUMS
[ -f "$sums" ] || fail "no SHA256SUMS beside $archive, so it cannot be checked"
name=$(basename "$archive")
expected=$(awk -v name="$name" '$2 == name { print $1 }' "$sums")
[ -n "$expected" ] || fail "$sums has no sum for $name"
if command -v sha256sum >/dev/null 2>&1; then
  actual=$(sha256sum <"$archive" | cut -d ' ' -f 1)
elif command -v openssl >/dev/null 2>&1; then
  actual=$(openssl dgst -sha256 -r <"$archive" | cut -d ' ' -f 1)
else
  fail "needs sha256sum or openssl to check the archive"
fi
[ "$actual" = "$expected" ] || fail "$name is damaged or was changed: its SHA-256 is $actual, expected $expected. Nothing was installed."

mkdir -p "$prefix" || fail "cannot make $prefix: name another directory with --prefix"
unpacked=$(mktemp -d "$prefix/.headway-XXXXXX") || fail "cannot write to $prefix: name another directory with --prefix"
trap 'rm -rf "$unpacked"' EXIT
trap 'exit 1' HUP INT TERM
tar -xzf "$archive" -C "$unpacked" --no-same-owner 2>/dev/null || tar -xzf "$archive" -C "$unpacked" ||
  fail "cannot unpack $archive. Nothing was installed."
for root in "$unpacked"/headway-*; do break; done
(cd "$root" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) >"$unpacked/FILES"

case $name in
  headway-fleet-*) program=headway-fleet ;;
  *) program=headway ;;
esac
of_program "$program"
[ ! -f "$list" ] || remove_installed
while IFS= read -r file; do
  mkdir -p "$prefix/$(dirname "$file")"
  # A program that runs, or a library that is mapped, keeps its old file.
  mv -f "$root/$file" "$prefix/$file"
done <"$unpacked/FILES"
cp "$unpacked/FILES" "$list"

echo "$("$prefix/bin/$program" --version | head -n 1) is installed in $prefix."
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "$prefix/bin is not on the PATH: add it, or call $prefix/bin/$program." ;;
esac
