#!/bin/sh
# Installs the CNI plugins on the node; the DaemonSet's init container runs it before raild starts.
#
# usage: install-plugins.sh [FROM [TO]]      by default from /opt/railcni/cni to /host/opt/cni/bin
#
# The kubelet may execute a plugin at any moment, so a plugin is never written in place: a temporary file, flushed to the
# disk, is renamed over the old one. A running old one goes on running; an exec finds the old file or the new one, whole.
# Repeatable: a plugin that is the same already is not touched.
set -eu

from=${1:-/opt/railcni/cni}
to=${2:-/host/opt/cni/bin}

say() { printf 'install-plugins: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }

[ -d "$to" ] || die "$to is not a directory: is the host's CNI directory mounted there?"
new=
trap '[ -z "$new" ] || rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM

# What an installer left that was killed. The age keeps it off one that is at work.
find "$to" -maxdepth 1 -name '.*.railcni-??????' -mmin +10 -delete

count=0
for plugin in "$from"/*; do
  [ -f "$plugin" ] || die "no plugins in $from"
  name=${plugin##*/}
  count=$((count + 1))
  if cmp -s "$plugin" "$to/$name" && [ -x "$to/$name" ]; then
    say "$name is up to date"
    continue
  fi
  new=$(mktemp "$to/.$name.railcni-XXXXXX") || die "cannot write to $to"
  cat "$plugin" >"$new" || die "cannot write $name to $to: is the disk full? the old one stays"
  chmod 755 "$new"
  sync "$new"
  mv -f "$new" "$to/$name"
  new=
  say "installed $name"
done
sync "$to"
say "$count plugins in $to"
