#!/bin/bash
# Everything that RailCNI is tested with, on this machine: installs, builds, runs every tier, and closes with one line:
# N passed, N failed[, N skipped]
#
# usage: test/run.sh [--tier NAME]...
#   by default   unit lint tidy-changed lab contract fabric packaging newer vm cluster bench     (a tier whose folder is not there is not there)
#                lab runs beside those that follow it, up to bench; RAILCNI_LABS=2: two labs share its tests, which takes 21 minutes
#                instead of 37 where no guest runs beside
#                newer is what is bound to FRRouting and Open vSwitch, and a part of the lab, on those of the next Debian (test/versions)
#                tidy-changed is clang-tidy over what differs from origin/main or, on it, from the day before its last commit
#                (RAILCNI_TIDY_BASE=REVISION: from that), newest first, for 100 seconds beyond what is known to be clean; what it has no time for counts as skipped
#                cluster is a Kubernetes cluster in network namespaces: install, pods, restarts, rollouts, the tutorial. The first
#                time on a machine `prepare` builds Kubernetes and the image (10 to 30 minutes; RAILCNI_CACHE or ~/.cache/railcni
#                keeps them); where RAILCNI_TEST_SECONDS leaves it too little time, it is one skip
#                what guests and cluster are made of is built first, in `prepare`: no test that waits runs beside a compiler
#   opt-in       load        contract and lab with a busy loop for each core beside them, RAILCNI_LOAD_RUNS times (3)
#                fresh       the quick start in a minimal Debian 12 that has nothing installed
#                upgrade     from the last tag v*, or RAILCNI_UPGRADE_FROM=REVISION, to this tree under traffic; builds the old version
#                asan tsan   unit and contract tests under a sanitizer
#                fuzz        each fuzz target: its seeds, and a second of its own
#                tidy        clang-tidy over everything (slow)
# RAILCNI_FRR=FOLDER, RAILCNI_OVS=FOLDER: other versions for contract, lab and vm (test/versions/versions.py)
# Root or sudo: contract, lab and packaging make network namespaces and mounts, and remove what they made.
# Reports of every tier: build/reports/. Exit status: 0 all passed, 1 something failed or nothing ran, 2 usage.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

DEFAULT=(unit lint tidy-changed lab contract fabric packaging newer vm cluster bench)
OPTIONAL=(load fresh upgrade asan tsan fuzz tidy)
# Hard limits in seconds: a tier that hangs is a failed tier, not a hung job.
declare -A LIMIT=([prepare]=4200 [load]=14400 [unit]=300 [lint]=900 [tidy-changed]=900 [contract]=600 [fabric]=900 [lab]=4200 [vm]=2700 [bench]=900 [packaging]=2400
                  [cluster]=3000 [newer]=1200 [fresh]=3300 [upgrade]=3000 [asan]=3000 [tsan]=3000 [fuzz]=1800 [tidy]=5400)
TOTAL=${RAILCNI_TEST_SECONDS:-86400}  # for the whole run: what is left of it bounds each tier, so that the closing line is printed

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' test/run.sh; }
known() { local t; for t in "${DEFAULT[@]}" "${OPTIONAL[@]}"; do [ "$t" = "$1" ] && return 0; done; return 1; }

reports=$PWD/build/reports
# So that one compiler cache serves every folder that the tree is built in (the image's included). The language is a part of ccache's keys.
unset LC_ALL LC_CTYPE LC_MESSAGES
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 LANG=C.UTF-8

root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "run.sh: the tests need root (network namespaces, mounts): run it as root or install sudo" >&2
    exit 1
  fi
  preserve=RAILCNI_CACHE,RAILCNI_VM_ACCEL,RAILCNI_UPGRADE_FROM,RAILCNI_UPGRADE_BUILD,RAILCNI_KUBERNETES,RAILCNI_MULTUS,RAILCNI_FRR,RAILCNI_OVS,RAILCNI_LABS,RAILCNI_TIER,RAILCNI_TIER_SECONDS,RAILCNI_LOAD_RUNS
  root=(sudo "--preserve-env=$preserve,http_proxy,https_proxy,no_proxy")
fi

# --- how each tier is run -----------------------------------------------------------------------------------------------

versions=test/versions/versions.py
ctest_in() {  # ctest_in TIER BUILD-FOLDER LABEL-REGEX JOBS [REPORT [OPTION...]]
  "${root[@]}" "$versions" ctest --test-dir "$2" --label-regex "$3" --parallel "$4" --output-on-failure --no-tests=ignore \
    --output-junit "$reports/$1/${5:-ctest}.xml" "${@:6}"
}
pytest_in() {  # pytest_in TIER FOLDER [REPORT [OPTION...]]
  "${root[@]}" "$versions" /usr/bin/python3 -B -m pytest -p no:cacheprovider -ra --maxfail 12 --junitxml "$reports/$1/${3:-pytest}.xml" "${@:4}" "$2"
}
# Guests take the folders' versions by themselves: with mounts of the host they would see one file at two paths.
guests_in() { versions="env" pytest_in "$@"; }
# Labs side by side, each with the tests of whole files.
labs() { [ "${RAILCNI_LABS:-1}" -le 1 ] || echo "-n $RAILCNI_LABS --dist loadfile"; }
sanitized() {  # sanitized PRESET: the tests of unit and contract, built by that preset
  cmake --preset "$1" -Wno-dev
  cmake --build --preset "$1"
  ctest_in "$1" "build/$1" '^(unit|contract)$' 2
}
tier_prepare() {
  deploy/deps.sh all
  cmake --preset release -Wno-dev
  cmake --build --preset release
  # What cannot be had here is that tier's own skip or failure.
  case " $RAILCNI_TIERS " in *" vm "* | *" newer "*) "${root[@]}" test/vm/run.sh fetch || true ;; esac
  case " $RAILCNI_TIERS " in *" newer "*) "${root[@]}" "$versions" --fetch trixie || true ;; esac
  case " $RAILCNI_TIERS " in *" cluster "*)
    deploy/deps.sh cluster || true
    "${root[@]}" deploy/lab/cluster prepare || true ;;
  esac
}
tier_unit() { ctest_in unit build '^unit$' 2; }
tier_lint() { ctest_in lint build '^lint$' 2; }
tier_contract() { ctest_in contract build '^contract$' 2; }
# shellcheck disable=SC2046  # words of options
tier_lab() { pytest_in lab test/lab pytest $(labs); }
tier_vm() { guests_in vm test/vm; }
tier_fabric() { pytest_in fabric test/fabric; }
tier_packaging() { pytest_in packaging test/packaging; }
tier_cluster() { pytest_in cluster test/cluster; }
tier_newer() {
  RAILCNI_FRR=$("${root[@]}" "$versions" --fetch trixie)
  export RAILCNI_FRR RAILCNI_OVS=$RAILCNI_FRR
  ctest_in newer build '^contract$' 2 ctest --tests-regex 'Bgp|Frr|Ovs|OpenFlow|Vswitchd'
  pytest_in newer test/versions in-force
  # zebra 10.3 ends when the interface of a rail is deleted and made again: each node is given back once.
  pytest_in newer test/lab/test_matrix.py labs -n 2 --dist loadfile -k 'not test_removal or given_back' \
    test/lab/test_{learning,repair,restarts,frontend,removal}.py
  guests_in newer test/vm/test_offload.py offload
}
tier_load() {
  local loops=() run failed=0
  for ((run = 0; run < $(nproc); run++)); do
    timeout "$RAILCNI_TIER_SECONDS" bash -c 'while :; do :; done' &
    loops+=($!)
  done
  # shellcheck disable=SC2064  # expanded now on purpose: the trap outlives the variable
  trap "kill ${loops[*]} 2>/dev/null" EXIT
  for ((run = 1; run <= ${RAILCNI_LOAD_RUNS:-3}; run++)); do
    ctest_in load build '^contract$' 2 "contract-$run" || failed=1
    # shellcheck disable=SC2046  # words of options
    pytest_in load test/lab "lab-$run" $(labs) || failed=1
  done
  return $failed
}
tier_fresh() { pytest_in fresh test/fresh; }
tier_upgrade() { RAILCNI_UPGRADE_BUILD=1 pytest_in upgrade test/lab/test_upgrade.py; }
tier_bench() { "${root[@]}" test/bench/run.sh --smoke; }
tier_asan() { sanitized asan; }
tier_tsan() { sanitized tsan; }
tier_fuzz() {
  cmake --preset fuzz -Wno-dev
  cmake --build --preset fuzz
  ctest_in fuzz build/fuzz '^fuzz$' 1
}
tidy() {  # tidy TIER OPTION...
  cmake --preset tidy -Wno-dev
  cmake --build --preset tidy
  /usr/bin/python3 -B test/tidy/tidy.py --build build/tidy --junit "$reports/$1/tidy.xml" "${@:2}"
}
tier_tidy() { tidy tidy --all; }
tier_tidy-changed() { tidy tidy-changed --seconds 100 ${RAILCNI_TIDY_BASE:+--base "$RAILCNI_TIDY_BASE"}; }

if [ "${1:-}" = --inside ]; then  # this script again, under the time limit of limited()
  "tier_$2"
  exit
fi
limited() {  # limited TIER [exec]: its output goes to the tier's log; exec: in place of this shell
  local left=$((TOTAL - SECONDS))
  [ "$left" -gt 0 ] || return 124
  [ "$left" -lt "${LIMIT[$1]}" ] || left=${LIMIT[$1]}
  ${2:-} env "RAILCNI_TIER=$1" "RAILCNI_TIER_SECONDS=$left" timeout --kill-after=30 "$left" bash test/run.sh --inside "$1" \
    >"$reports/$1.log" 2>&1 </dev/null
}

there() {
  case $1 in
    lab|vm|fabric|packaging|cluster) compgen -G "test/$1/test_*.py" >/dev/null ;;
    bench) [ -x test/bench/run.sh ] ;;
    *) true ;;
  esac
}

# --- options ------------------------------------------------------------------------------------------------------------

tiers=()
while [ $# -gt 0 ]; do
  case $1 in
    --tier)
      if ! known "${2:-}"; then
        printf 'run.sh: --tier wants one of: %s\n' "${DEFAULT[*]} ${OPTIONAL[*]}" >&2
        exit 2
      fi
      tiers+=("$2")
      shift 2 ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[ ${#tiers[@]} -gt 0 ] || tiers=("${DEFAULT[@]}")
export RAILCNI_TIERS="${tiers[*]}"

mkdir -p "$reports"
for tier in prepare "${tiers[@]}"; do "${root[@]}" rm -rf "${reports:?}/$tier" "$reports/$tier.log"; done
rm -f "$reports/failed.txt"

say() { printf '%s\n' "$*"; }
seconds() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# --- how busy the machine was, ours and others' work together: a tier that waits could have another beside it -------------------

ticks() {  # busy and idle so far (proc(5), /proc/stat)
  local user nice system idle iowait irq softirq
  read -r _ user nice system idle iowait irq softirq _ </proc/stat
  echo $((user + nice + system + irq + softirq)) $((idle + iowait))
}
percent() {  # percent BUSY IDLE: since those ticks
  local busy idle
  read -r busy idle < <(ticks)
  printf '%d %%' $((100 * (busy - $1) / (busy - $1 + idle - $2 + 1)))
}

# --- the tiers one after another ----------------------------------------------------------------------------------------

passed=0 failed=0 skipped=0
count() { passed=$((passed + $1)); failed=$((failed + $2)); skipped=$((skipped + $3)); }
result_of() {  # result_of TIER STATUS: "passed failed skipped" from the reports, failed tests' names on stderr
  /usr/bin/python3 -B test/report.py "$reports/$1" --status "$2" --name "$1" --append "$reports/failed.txt"
}

say "== prepare: packages, the release build, what guests and cluster are made of (log: build/reports/prepare.log)"
began=$SECONDS
read -r -a first < <(ticks)
if ! limited prepare; then
  tail -n 60 "$reports/prepare.log"
  say "prepare failed after $(seconds $((SECONDS - began))); the whole log is build/reports/prepare.log"
  say "0 passed, 1 failed"
  exit 1
fi
say "   done in $(seconds $((SECONDS - began)))"
took=("prepare $(seconds $((SECONDS - began))) (busy $(percent "${first[@]}"))")

tell() {  # tell TIER STATUS SECONDS [BUSY]: what it counted, what its tests measured, the end of its log if something failed
  local p f s
  read -r p f s < <(result_of "$1" "$2") || { p=0 f=1 s=0; }
  count "$p" "$f" "$s"
  if [ "$1" = bench ]; then cat "$reports/$1.log"; fi
  find "$reports/$1" -name '*.txt' -print0 | sort -z | while IFS= read -r -d '' table; do  # what tests have measured
    say "" && sed 's/^/   /' "$table"
  done
  say "   $1: $p passed, $f failed, $s skipped in $(seconds "$3")"
  took+=("$1 $(seconds "$3")${4:+ (busy $4)}")
  if [ "$f" -gt 0 ]; then
    say "   --- end of build/reports/$1.log"
    tail -n 60 "$reports/$1.log" | sed 's/^/   | /'
  fi
}
# The lab waits more than it computes: it runs beside other tiers. Not beside bench, which measures, nor beside a compiler.
lab='' lab_began=0
await_lab() {
  [ -n "$lab" ] || return 0
  local status=0
  wait "$lab" || status=$?
  lab=''
  say "== lab, which ran beside"
  tell lab "$status" $(($(stat -c %Y "$reports/lab.log") - lab_began))
}
trap '[ -z "$lab" ] || { kill "$lab"; wait "$lab"; } 2>/dev/null || true' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

for tier in "${tiers[@]}"; do
  if ! there "$tier"; then say "== $tier: not there yet"; continue; fi
  mkdir -p "$reports/$tier"
  if [ "$tier" = lab ] && [ "${tiers[-1]}" != lab ]; then
    say "== lab begins, beside what follows"
    lab_began=$(date +%s)
    limited lab exec &
    lab=$!
    continue
  fi
  if [ "$tier" = bench ]; then await_lab; fi
  say "== $tier"
  began=$SECONDS
  read -r -a before < <(ticks)
  status=0
  limited "$tier" || status=$?
  tell "$tier" "$status" $((SECONDS - began)) "$(percent "${before[@]}")"
done
await_lab

say "" && say "== time: $(IFS=,; say "${took[*]}" | sed 's/,/, /g'); in all $(seconds "$SECONDS"). The slowest tests:"
/usr/bin/python3 -B test/report.py "$reports" --slowest 20
/usr/bin/python3 -B test/report.py "$reports" --cases test/cases.yaml >"$reports/cases.txt"
say ""
# Once more, where who has the end of the output alone finds it.
if [ -s "$reports/failed.txt" ]; then
  say "== failed:"
  sed 's/^/   /' "$reports/failed.txt"
fi
line="$passed passed, $failed failed"
[ "$skipped" = 0 ] || line+=", $skipped skipped"
say "$line"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
