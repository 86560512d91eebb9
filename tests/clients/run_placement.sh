#!/bin/sh
# The network that places nodes: our loop held against ONNX Runtime; see check_placement.py.
#
#   run_placement.sh PLACEMENT_DUMP [WORK_DIR]
#
# WORK_DIR as in run_clients.sh. Exit 1 if a score differs, 77 if the environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"

exec "$python" "$here/check_placement.py" "$binary" "$root/src/data/placement.onnx" "$root/tests/truth"
