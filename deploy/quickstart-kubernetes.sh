#!/bin/bash
# From a Debian 12 to a Kubernetes cluster with isolated pods: installs, builds, brings up two nodes in network namespaces of this
# machine, installs RailCNI by the manifests, starts pods of two tenants on both nodes, and says who reaches whom.
#
# usage: deploy/quickstart-kubernetes.sh      (root, or a user with sudo)
# The first run builds Kubernetes and the image: 10 to 30 minutes. Exit status 0: every pair behaved as expected. The cluster
# stays up; `deploy/lab/cluster down` ends it. Repeatable: a cluster that is up already is taken down first.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

step() { printf '\n== %s\n' "$*"; }
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "quickstart-kubernetes: needs root or sudo" >&2; exit 2; }
  exec sudo --preserve-env=RAILCNI_CACHE,RAILCNI_LAB,RAILCNI_KUBERNETES,RAILCNI_MULTUS,http_proxy,https_proxy,no_proxy "$PWD/deploy/quickstart-kubernetes.sh"
fi
kubectl() { deploy/lab/cluster kubectl "$@"; }

step "packages"
deploy/deps.sh run cluster
step "cluster"
deploy/lab/cluster down
deploy/lab/cluster up
step "RailCNI, by the manifests"
deploy/lab/cluster install

step "four pods of two tenants"
pods=("a1 tenant-a n1" "a2 tenant-a n2" "b1 tenant-b n1" "b2 tenant-b n2")
for namespace in tenant-a tenant-b; do kubectl create namespace "$namespace"; done
for pod in "${pods[@]}"; do
  read -r name namespace node <<<"$pod"
  deploy/lab/tutorial-pod "$name" "$node" | kubectl -n "$namespace" apply -f -
done
for namespace in tenant-a tenant-b; do kubectl -n "$namespace" wait --for=condition=Ready pod --all --timeout=120s; done
kubectl get pods -A -o wide

step "who reaches whom (ping by kubectl exec): expected/seen"
wrong=0
for rail in 0 1; do
  for source in "${pods[@]}"; do
    read -r from space _ <<<"$source"
    for target in "${pods[@]}"; do
      read -r to other _ <<<"$target"
      [ "$from" != "$to" ] || continue
      expected=no seen=no
      [ "$space" != "$other" ] || expected=yes
      address=$(deploy/lab/tutorial-address "$other" "$to" "rail$rail")
      if kubectl -n "$space" exec "$from" -- ping -c 2 -W 1 -I "net$((rail + 1))" "$address" >/dev/null 2>&1; then seen=yes; fi
      [ $expected = $seen ] || wrong=1
      printf 'rail %d  %s/%s -> %s/%s  %s/%s\n' "$rail" "$space" "$from" "$other" "$to" "$expected" "$seen"
    done
  done
done

step "$([ $wrong = 0 ] && echo "all as expected" || echo "NOT as expected: deploy/lab/cluster status")"
cat <<EOF
The cluster is up. As root:
  deploy/lab/cluster kubectl get pods -A      kubectl, with all of its options
  deploy/lab/cluster on n1 -- ovs-vsctl show  a command on a node
  deploy/lab/cluster down                     ends it
TUTORIAL.md goes on from here.
EOF
exit $wrong
