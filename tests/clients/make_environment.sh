#!/bin/sh
# Makes the Python environment of the client tests, once for all of them.
#
#   make_environment.sh WORK_DIR
#
# WORK_DIR as in run_clients.sh. Exit 77 if the environment cannot be made.
set -eu

[ $# -eq 1 ] || { echo "usage: make_environment.sh WORK_DIR" >&2; exit 2; }
set -- /bin/true "$1"  # no program is tested
. "$(dirname "$0")/environment.sh"
