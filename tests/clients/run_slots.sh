#!/bin/sh
# Adds slots for adapters to small models with BINARY, and runs them in ONNX Runtime beside PEFT.
#
#   run_slots.sh BINARY [WORK_DIR [one|many]]
#
# WORK_DIR as in run_clients.sh. `one`: one model; default: every model with every exporter. One line per case; exit 1 if
# one fails, 77 if the environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"

export PYTHONPATH="$root/python" PYTHONDONTWRITEBYTECODE=1
if [ "${3:-many}" = one ]; then
    exec "$python" "$here/check_slots.py" "$binary" --models bert --exporters script
fi
"$python" "$here/check_slots.py" "$binary"
