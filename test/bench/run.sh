#!/bin/bash
# Measures RailCNI against its budgets and against the same steps done with tools, and prints one table.
#
# usage: test/bench/run.sh [--smoke] [--only PART]...
#   --smoke   a few rounds of everything: shows that the benchmarks work, the numbers say little
#   --only    start chain converge path memory rails scale lib
# Root; needs the release build. RAILCNI_BIN=folder takes the binaries from elsewhere than build/bin.
# The numbers as JSON: build/bench/results.json. Exit status: 0 measured, whatever the numbers; 1 something is broken.
set -euo pipefail
exec /usr/bin/python3 -B "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/bench.py" "$@"
