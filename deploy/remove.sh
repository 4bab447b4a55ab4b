#!/bin/sh
# Takes RailCNI off the node: `raild --remove`, then the plugins. The init container of manifests/uninstall runs it.
#
# usage: remove.sh [PLUGINS [CNI_BIN]]      by default what /opt/railcni/cni holds is removed from /opt/cni/bin
#   RAILCNI_FORCE=1   also while pods live: they lose their network
#
# A plugin is removed only if it is one of ours by its name and by what it holds, whatever its version. The plugins go last: as
# long as a pod has its sandbox, its DEL needs them. Exit status of `raild --remove`: 0 all is removed, 1 refused, 3 some is left.
# Repeatable.
set -eu

plugins=${1:-/opt/railcni/cni}
bin=${2:-/opt/cni/bin}

say() { printf 'remove: %s\n' "$*"; }

status=0
if [ "${RAILCNI_FORCE:-}" = 1 ]; then
  "${RAILD:-raild}" --remove --force || status=$?
else
  "${RAILD:-raild}" --remove || status=$?
fi
if [ "$status" != 0 ]; then
  say "the plugins stay in $bin"
  exit "$status"
fi

for plugin in "$plugins"/*; do
  name=${plugin##*/}
  [ -f "$bin/$name" ] || continue
  # Each of our plugins reads this variable.
  if grep -q RAILCNI_ROOT "$bin/$name"; then
    rm -f "$bin/$name"
    say "removed $bin/$name"
  else
    say "$bin/$name stays: it is not RailCNI's"
  fi
done
# What an installer left that was killed.
find "$bin" -maxdepth 1 -name '.*.railcni-??????' -delete
