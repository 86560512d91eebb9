#!/bin/sh
# References and comparisons of BINARY's companion, held against truth; see check_compare.py.
#
#   run_compare.sh BINARY [WORK_DIR [one|many]]
#
# WORK_DIR as in run_clients.sh. `one` takes one model in two forms; default: many. Exit 1 if anything does not hold, 77 if
# the environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"

export PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1
rm -rf "$work/compare-${3:-many}"
set -- "$binary" "$work/compare-${3:-many}" "${3:-many}"
if [ "$3" = one ]; then
    exec "$python" "$here/check_compare.py" "$1" "$2" --model encoder --form float --form dynamic --exporter torchscript
fi
exec "$python" "$here/check_compare.py" "$1" "$2"
