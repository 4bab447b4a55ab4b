#!/bin/sh
# Makes a node's own configuration of the one for all nodes, holds it against the node and installs it; the DaemonSet's first
# init container. The plugins run on the host and read the same file there as raild does in its container.
#
# usage: NODE_NAME=... NODE_IP=... install-config.sh [CONFIG [TO [OVERRIDES]]]    by default /config /etc/railcni /overrides
#   CONFIG  node.json, the file for all nodes (lib/config/README.md), or for one that differs in everything
#           <NODE_NAME>.json, a plain file, which is taken as it is -> TO/node.json (0644)
#   OVERRIDES  <NODE_NAME>.json: one more rule for this node alone; the folder may be missing
#   WAIT    seconds that the node has to come up with what the file names: a NIC's driver, a socket; by default 60
# Checked before anything is replaced: a node keeps its old configuration when the new one is wrong. A file that is installed
# already is not refused, whatever the node lacks by now: raild serves the other rails, and reports. Repeatable.
set -eu

config=${1:-/config}
to=${2:-/etc/railcni}
overrides=${3:-/overrides}
raild=${RAILD:-raild}
wait=${WAIT:-60}
token=/var/run/secrets/kubernetes.io/serviceaccount/token

say() { printf 'install-config: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }
stays="$to/node.json stays as it was"

[ -n "${NODE_NAME:-}" ] || die "NODE_NAME is not set: the DaemonSet gives it (spec.nodeName); $stays"
[ -d "$to" ] || die "$to is not a directory: is the host's /etc/railcni mounted there?"

new=
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "$new" ] || rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM
find "$to" -maxdepth 1 -name '.*.railcni-??????' -mmin +10 -delete

# The plain file of this node, in $work/etc/railcni/node.json.
mkdir -p "$work/etc/railcni"
plain=$work/etc/railcni/node.json

resolve() {  # resolve [FLAGS]
  "$raild" --resolve-config "$config/node.json" --overrides "$overrides" --node "$NODE_NAME" ${NODE_IP:+--node-ip "$NODE_IP"} "$@" \
    >"$plain" 2>"$work/why"
}

# Status 3: the file names labels, which only the Node object has.
resolve_with_labels() {
  [ -r "$token" ] || die "node.json depends on labels of the node, and this pod has no token for the API server; $stays"
  "$raild" --print-node-object >"$work/node-object" || die "the object of node $NODE_NAME cannot be read; $stays"
  resolve --node-object "$work/node-object"
}

resolve_somehow() {
  status=0
  resolve || status=$?
  [ "$status" -ne 3 ] || { status=0; resolve_with_labels || status=$?; }
  return "$status"
}

# Ends within $wait seconds. The node boots while this runs: its NICs get their drivers and names, its daemons start.
waited=0
give_time() {  # give_time COMMAND...: until it succeeds; what it said last is in $work/why
  while ! "$@"; do
    [ "$waited" -lt "$wait" ] || return 1
    [ "$waited" -ne 0 ] || { say "not yet, waiting up to $wait s:"; cat "$work/why"; }
    waited=$((waited + 1))
    sleep 1
  done
}

check_node() { "$raild" --check-node "$plain" >"$work/said" 2>"$work/why"; }

if [ -f "$config/$NODE_NAME.json" ]; then
  say "this node takes $NODE_NAME.json, a file of its own"
  cp "$config/$NODE_NAME.json" "$plain"
elif [ -f "$config/node.json" ]; then
  say "this node, $NODE_NAME, takes what node.json says for it"
  [ ! -f "$overrides/$NODE_NAME.json" ] || say "with what $overrides/$NODE_NAME.json says for it alone"
  if ! resolve_somehow; then
    # Only a PCI address can be right later: its NIC may still get its driver.
    if grep -q 'look for the uplink of' "$work/why"; then give_time resolve_somehow || true; fi
    if ! resolve_somehow; then
      cat "$work/why" >&2
      die "node.json gives node $NODE_NAME no configuration; $stays"
    fi
  fi
else
  die "neither $NODE_NAME.json nor node.json in $config; $stays"
fi
RAILCNI_ROOT=$work "$raild" --check-config || die "this is not a configuration that raild takes; $stays"

if cmp -s "$plain" "$to/node.json" && [ "$(stat -c %a "$to/node.json")" = 644 ]; then
  check_node || { say "it is installed already, and this node lacks:"; cat "$work/why"; }
  say "node.json is up to date"
  exit 0
fi
if ! give_time check_node; then
  cat "$work/why" >&2
  die "this node does not have what its configuration names; $stays"
fi

# A temporary file, flushed to the disk and renamed: a plugin reads the old file or the new one, whole.
new=$(mktemp "$to/.node.json.railcni-XXXXXX") || die "cannot write to $to"
cat "$plain" >"$new" || die "cannot write node.json to $to: is the disk full? the old one stays"
chmod 644 "$new"
sync "$new"
mv -f "$new" "$to/node.json"
new=
sync "$to"
say "installed node.json"
