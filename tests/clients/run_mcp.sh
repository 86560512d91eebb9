#!/bin/sh
# Talks to `python -m onnx_tag mcp` with the official client of the Model Context Protocol.
#
#   run_mcp.sh BINARY [WORK_DIR]
#
# WORK_DIR as in run_clients.sh. One line per revision; exit 1 if any check fails, 77 if the environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"
"$python" "$here/check_mcp.py" "$binary" "$root/tests/models/bert_tiny/model.onnx"
