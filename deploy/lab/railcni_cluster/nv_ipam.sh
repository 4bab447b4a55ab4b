#!/bin/sh
# Stands in for nv-ipam, which Debian does not have: the addresses come from host-local, out of the ranges that this node has in
# the pool that the network names. /etc/cni/net.d/nv-ipam.d/POOL.ranges holds them. raild runs it in its container, too, where
# there is a shell and nothing else.
set -eu

config=$(cat)
value() { printf '%s' "$config" | tr '\n' ' ' | grep -o "\"$1\" *: *\"[^\"]*\"" | head -n 1 | sed 's/.*"\([^"]*\)"$/\1/'; }
fail() { printf '{"cniVersion":"0.4.0","code":7,"msg":"%s"}\n' "$1"; exit 1; }

if [ "${CNI_COMMAND:-}" = VERSION ]; then
  printf '%s' "$config" | exec "$(dirname "$0")/host-local"
fi
pool=$(value poolName)
case $pool in ''|*[!a-z0-9-]*) fail "nv-ipam stand-in: ipam.poolName is '$pool': no name of a pool" ;; esac
ranges=$(cat "/etc/cni/net.d/nv-ipam.d/$pool.ranges") || fail "nv-ipam stand-in: no pool $pool on this node"
printf '{"cniVersion":"%s","name":"%s","ipam":{"type":"host-local","ranges":%s}}' "$(value cniVersion)" "$pool" "$ranges" |
  exec "$(dirname "$0")/host-local"
