#!/bin/bash
# Installs what RailCNI needs from Debian 12 packages: the one list that the quick start, the tests, the Dockerfile
# and CI share.
#
# usage: deploy/deps.sh SET...      SET = build | run | image | test | vm | cluster | all      (root, or a user with sudo)
#   build  compilers and libraries; builds everything, runs nothing
#   run    Open vSwitch, FRRouting and the reference CNI plugins: what a node and the lab execute
#   image  what the container image has besides Debian's base: the libraries of raild and railctl; what `railctl accept` measures RDMA with
#   test   what only ./test/run.sh needs: linters, podman, buildah, kubectl, Prometheus, a browser
#   vm     what runs the guests of test/vm: QEMU (8 or newer: from backports, which need not be among this system's
#          sources; where it cannot be had the tier is skipped, which is no error here), RDMA's tools
#   cluster  what makes a Kubernetes cluster of the lab's nodes (deploy/lab/cluster): etcd, containerd, runc, and what builds
#          the image and Kubernetes itself
# Repeatable: packages that are there already are left alone, and nothing is fetched when none is missing.
set -euo pipefail

build=(g++ cmake ninja-build pkg-config make ccache python3 git
       libnl-3-dev libnl-route-3-dev libnl-genl-3-dev
       libgrpc++-dev libssl-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
       libspdlog-dev libfmt-dev nlohmann-json3-dev libexpected-dev libsqlite3-dev nettle-dev libcli11-dev libasio-dev
       libcurl4-openssl-dev libmicrohttpd-dev
       openvswitch-source libgtest-dev libgmock-dev libbenchmark-dev)
run=(openvswitch-switch frr containernetworking-plugins iproute2 ethtool iputils-ping python3)
image=(libgrpc++1.51 libprotobuf32 libfmt9 libcurl4 libmicrohttpd12 perftest ibverbs-providers)
test=(chromium python3-pytest python3-pytest-xdist python3-yaml python3-jsonschema prometheus shellcheck clang-format-19 clang-tidy-19 clang-19 libclang-rt-19-dev
      frr-pythontools podman containerd crun buildah debootstrap kubernetes-client libfaketime file openssl dpkg-dev lintian zsh lldpd)
vm=(busybox-static kmod xz-utils make gcc-12 libelf1 rdma-core ibverbs-providers perftest ucx-utils python3-pytest)
cluster=(etcd-server containerd runc kubernetes-client python3-grpcio python3-yaml openssl gcc dpkg-dev buildah debootstrap busybox-static
         containernetworking-plugins util-linux)

say() { printf 'deps: %s\n' "$*"; }
die() { printf 'deps: %s\n' "$*" >&2; exit 1; }

[ $# -gt 0 ] || die "no package set named; usage: deploy/deps.sh build|run|image|test|vm|cluster|all ..."
wanted=() machine=no
for set in "$@"; do
  case $set in
    build) wanted+=("${build[@]}") ;;
    run)   wanted+=("${run[@]}") ;;
    image) wanted+=("${image[@]}") ;;
    test)  wanted+=("${test[@]}") ;;
    vm)    wanted+=("${vm[@]}"); machine=yes ;;
    cluster) wanted+=("${cluster[@]}") ;;
    all)   wanted+=("${build[@]}" "${run[@]}" "${test[@]}" "${vm[@]}" "${cluster[@]}"); machine=yes ;;
    *)     die "unknown package set '$set'; there are: build, run, image, test, vm, cluster, all" ;;
  esac
done

command -v apt-get >/dev/null || die "apt-get not found: these scripts need Debian 12 (bookworm)"
missing=()
for p in "${wanted[@]}"; do
  # A kubectl from elsewhere does as well, and its package would collide with Debian's.
  if [ "$p" = kubernetes-client ] && command -v kubectl >/dev/null; then continue; fi
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing+=("$p")
done
qemu_there() { qemu-system-x86_64 --version 2>/dev/null | grep -Eq 'version ([89]|[1-9][0-9])\.'; }
if [ $machine = yes ] && qemu_there; then machine=there; fi
if [ ${#missing[@]} -eq 0 ] && [ $machine != yes ]; then
  say "all ${#wanted[@]} packages are installed"
  exit 0
fi

sudo=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || die "missing: ${missing[*]:-QEMU}; installing them needs root or sudo"
  sudo=(sudo "--preserve-env=RAILCNI_CACHE,http_proxy,https_proxy,no_proxy")
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

quietly=(-y -qq --no-install-recommends -o Dpkg::Use-Pty=0)
if [ ${#missing[@]} -gt 0 ]; then
  say "installing ${#missing[@]} packages: ${missing[*]}"
  "${sudo[@]}" apt-get update -qq -o Dpkg::Use-Pty=0 || die "apt-get update failed: is the package mirror reachable?"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${quietly[@]}" "${missing[@]}" >/dev/null ||
    die "apt-get install failed; run it by hand to see why: apt-get install ${missing[*]}"
fi
if [ $machine = yes ]; then
  say "installing QEMU from bookworm-backports"
  suite=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/apt-suite.sh
  if ! { "${sudo[@]}" "$suite" bookworm-backports apt-get update -qq &&
         "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive "$suite" bookworm-backports \
           apt-get install "${quietly[@]}" qemu-system-x86 >/dev/null; }; then
    say "QEMU 8 or newer cannot be had: the guests of test/vm will be skipped"
  fi
fi
say "done"
