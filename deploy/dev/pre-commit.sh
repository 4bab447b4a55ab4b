#!/bin/bash
# What every commit must pass: format and the lint tests, in seconds. As a git hook:
#   ln -s ../../deploy/dev/pre-commit.sh .git/hooks/pre-commit
# usage: deploy/dev/pre-commit.sh [--fix]     --fix formats the C and C++ files first
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"

if [ "${1:-}" = --fix ]; then
  git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' '*.c' | xargs -0 -r clang-format-19 -i
fi
cmake --preset dev -Wno-dev >/dev/null
exec ctest --preset dev --label-regex '^lint$' --exclude-regex 'lint\.binaries' --output-on-failure
