#!/bin/sh
# Talks to `onnx-tag mcp` with the official client of the Model Context Protocol.
#
#   run_mcp.sh BINARY [WORK_DIR]
#
# WORK_DIR as in run_clients.sh. One line per revision; exit 1 if any check fails, 77 if the environment cannot be made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { echo "usage: run_mcp.sh BINARY [WORK_DIR]" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=${2:-$root/build/clients-venv}
mkdir -p "$work"
work=$(cd "$work" && pwd)
. "$here/environment.sh"
"$python" "$here/check_mcp.py" "$binary" "$root/tests/models/bert_tiny/model.onnx"
