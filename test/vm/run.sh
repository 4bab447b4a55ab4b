#!/bin/bash
# One guest of the vm tier by hand; README.md of this folder says what there is to see.
#
# usage: test/vm/run.sh list                     the guests
#        test/vm/run.sh fetch [--again]          kernels and modules into the cache; --again: the newest ones
#        test/vm/run.sh test GUEST [PYTEST...]   the guest's tests; the same as pytest test/vm/test_GUEST.py
#        test/vm/run.sh exec GUEST COMMAND...    a command in the guest; its status is ours
#        test/vm/run.sh shell GUEST              a shell in it; `exit` powers it off, Ctrl-A X ends QEMU
set -euo pipefail
folder=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if [ "${1:-}" = test ] && [ $# -ge 2 ]; then
  exec /usr/bin/python3 -B -m pytest -p no:cacheprovider "$folder/test_$2.py" "${@:3}"
fi
PYTHONPATH=$folder exec /usr/bin/python3 -B -m railcni_vm "$@"
