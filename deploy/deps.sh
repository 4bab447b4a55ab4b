#!/bin/bash
# Installs what RailCNI needs from Debian 12 packages: the one list that the quick start, the tests, the Dockerfile
# and CI share.
#
# usage: deploy/deps.sh SET...      SET = build | run | image | test | all      (root, or a user with sudo)
#   build  compilers and libraries; builds everything, runs nothing
#   run    Open vSwitch, FRRouting and the reference CNI plugins: what a node and the lab execute
#   image  the shared libraries of raild and railctl: what their container image has besides Debian's base
#   test   what only ./test/run.sh needs: linters, podman, buildah, kubectl
# Repeatable: packages that are there already are left alone, and nothing is fetched when none is missing.
set -euo pipefail

build=(g++ cmake ninja-build pkg-config make ccache python3 git
       libnl-3-dev libnl-route-3-dev libnl-genl-3-dev
       libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
       libspdlog-dev libfmt-dev nlohmann-json3-dev libexpected-dev libsqlite3-dev nettle-dev libcli11-dev libasio-dev
       openvswitch-source libgtest-dev libgmock-dev libbenchmark-dev)
run=(openvswitch-switch frr containernetworking-plugins iproute2 ethtool iputils-ping python3)
image=(libgrpc++1.51 libprotobuf32 libfmt9)
test=(python3-pytest shellcheck clang-format-19 clang-tidy-19 clang-19 libclang-rt-19-dev
      podman buildah debootstrap kubernetes-client)

say() { printf 'deps: %s\n' "$*"; }
die() { printf 'deps: %s\n' "$*" >&2; exit 1; }

[ $# -gt 0 ] || die "no package set named; usage: deploy/deps.sh build|run|image|test|all ..."
wanted=()
for set in "$@"; do
  case $set in
    build) wanted+=("${build[@]}") ;;
    run)   wanted+=("${run[@]}") ;;
    image) wanted+=("${image[@]}") ;;
    test)  wanted+=("${test[@]}") ;;
    all)   wanted+=("${build[@]}" "${run[@]}" "${test[@]}") ;;
    *)     die "unknown package set '$set'; there are: build, run, image, test, all" ;;
  esac
done

command -v apt-get >/dev/null || die "apt-get not found: these scripts need Debian 12 (bookworm)"
missing=()
for p in "${wanted[@]}"; do
  # A kubectl from elsewhere does as well, and its package would collide with Debian's.
  if [ "$p" = kubernetes-client ] && command -v kubectl >/dev/null; then continue; fi
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing+=("$p")
done
if [ ${#missing[@]} -eq 0 ]; then
  say "all ${#wanted[@]} packages are installed"
  exit 0
fi

sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || die "missing: ${missing[*]}; installing them needs root or sudo"
  sudo=(sudo)
fi

# The lab and the tests start their own daemons in their own namespaces. Without this, installing openvswitch-switch or
# frr would start a second set in the host's.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
  "${sudo[@]}" chmod 755 "$policy"
  # shellcheck disable=SC2064  # expanded now on purpose: the trap outlives the variables
  trap "${sudo[*]} rm -f $policy" EXIT
fi

say "installing ${#missing[@]} packages: ${missing[*]}"
"${sudo[@]}" apt-get update -qq -o Dpkg::Use-Pty=0 || die "apt-get update failed: is the package mirror reachable?"
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 \
  "${missing[@]}" >/dev/null || die "apt-get install failed; run it by hand to see why: apt-get install ${missing[*]}"
say "done"
