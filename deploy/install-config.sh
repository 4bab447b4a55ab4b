#!/bin/sh
# Installs a node's configuration on the node; the DaemonSet's first init container. The plugins run on the host and read
# the same files there as raild does in its container.
#
# usage: NODE_NAME=... install-config.sh [CONFIG [TO]]    by default /config /etc/railcni
#   CONFIG  <NODE_NAME>.json, or node.json for a node that has none of its own -> TO/node.json (0644)
# Checked before anything is replaced: a node keeps its old configuration when the new one is wrong. Repeatable.
set -eu

config=${1:-/config}
to=${2:-/etc/railcni}

say() { printf 'install-config: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }

file=$config/${NODE_NAME:-}.json
[ -n "${NODE_NAME:-}" ] && [ -f "$file" ] || file=$config/node.json
[ -f "$file" ] || die "neither ${NODE_NAME:-(no NODE_NAME)}.json nor node.json in $config"
[ -d "$to" ] || die "$to is not a directory: is the host's /etc/railcni mounted there?"
say "this node (${NODE_NAME:-no name given}) takes ${file##*/}"

new=
trap '[ -z "$new" ] || rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM
find "$to" -maxdepth 1 -name '.*.railcni-??????' -mmin +10 -delete

# A temporary file, flushed to the disk and renamed: a plugin reads the old file or the new one, whole.
put() {  # put SOURCE NAME MODE
  if cmp -s "$1" "$to/$2" && [ "$(stat -c %a "$to/$2")" = "$3" ]; then
    say "$2 is up to date"
    return
  fi
  new=$(mktemp "$to/.$2.railcni-XXXXXX") || die "cannot write to $to"
  cat "$1" >"$new" || die "cannot write $2 to $to: is the disk full? the old one stays"
  chmod "$3" "$new"
  sync "$new"
  mv -f "$new" "$to/$2"
  new=
  say "installed $2"
}

root=$(mktemp -d)
mkdir -p "$root/etc/railcni"
cp "$file" "$root/etc/railcni/node.json"
right=0
RAILCNI_ROOT=$root "${RAILD:-raild}" --check-config || right=$?
rm -rf "$root"
[ "$right" = 0 ] || die "${file##*/} is not a configuration that raild takes; $to/node.json stays as it was"
put "$file" node.json 644
sync "$to"
