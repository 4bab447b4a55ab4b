#!/bin/bash
# From a fresh Debian 12 to isolated pods on a fabric: installs, builds, brings up a lab of 2 nodes, 2 rails and a spine,
# attaches four pods of two tenants and sends real traffic between every pair of them on every rail.
#
# usage: deploy/quickstart.sh      (root, or a user with sudo)
# Exit status 0: every pair behaved as expected. The lab stays up; `deploy/lab/lab down` ends it. Repeatable: a lab that
# is up already is taken down first.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

step() { printf '\n== %s\n' "$*"; }
sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "quickstart: needs root or sudo" >&2; exit 2; }
  sudo=(sudo)
fi
prefix=${RAILCNI_LAB:-lab}
lab() { "${sudo[@]}" env RAILCNI_LAB="$prefix" RAILCNI_BIN="$PWD/build/bin" deploy/lab/lab "$@"; }

step "packages"
deploy/deps.sh build run

step "build (release, without tests)"
cmake --preset release
cmake --build --preset product

step "lab: 2 nodes, 2 rails, 1 spine"
lab down
lab up --nodes 2 --rails 2 --spines 1

step "four pods of two tenants"
lab pod add a1 --node n1 --tenant tenant-a
lab pod add a2 --node n2 --tenant tenant-a
lab pod add b1 --node n1 --tenant tenant-b
lab pod add b2 --node n2 --tenant tenant-b

wrong=0
step "ICMP between every pair on every rail"
lab matrix --wait 15 || wrong=1
step "UDP port 4791 with DSCP 26 and ECN bits (TOS 0x6a): payload and TOS byte compared at the other end"
lab matrix --probe udp --wait 15 || wrong=1

step "routes of leaf 0 with their communities"
lab routes leaf0

for node in n1 n2; do
  step "railctl get attachments, on $node"
  lab railctl "$node" get attachments || wrong=1
done

step "$([ $wrong = 0 ] && echo "all as expected" || echo "NOT as expected: see above; logs in /run/railcni-$prefix/*/log")"
cat <<EOF
The lab is up. As root:
  deploy/lab/lab status                            daemons, BGP sessions, pods
  deploy/lab/lab exec a1 -- ping -I net1 ADDRESS   any command in a pod
  deploy/lab/lab pod add c1 --node n2 --tenant tenant-c
  deploy/lab/lab railctl n1 status                 railctl of a node, with any of its words
  deploy/lab/lab down                              ends it
EOF
exit $wrong
