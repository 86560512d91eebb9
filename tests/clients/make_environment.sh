#!/bin/sh
# Makes the Python environment of the client tests, once for all of them.
#
#   make_environment.sh WORK_DIR
#
# WORK_DIR as in run_clients.sh. Exit 77 if the environment cannot be made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "usage: make_environment.sh WORK_DIR" >&2; exit 2; }
mkdir -p "$1"
work=$(cd "$1" && pwd)
. "$here/environment.sh"
