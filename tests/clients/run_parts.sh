#!/bin/sh
# Renames, taps, extracts and splits models of every kind with BINARY, and runs the results.
#
#   run_parts.sh BINARY [WORK_DIR [one|many]]
#
# WORK_DIR as in run_clients.sh. `one` takes tests/models/bert_tiny alone; default: many. One line per model; exit 1 if any
# check fails, 77 if the environment cannot be made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { echo "usage: run_parts.sh BINARY [WORK_DIR [one|many]]" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=${2:-$root/build/clients-venv}
mkdir -p "$work"
work=$(cd "$work" && pwd)
. "$here/environment.sh"

if [ "${3:-many}" = one ]; then
    rm -rf "$work/parts-one"
    mkdir -p "$work/parts-one/bert_tiny"
    cp "$root/tests/models/bert_tiny/model.onnx" "$work/parts-one/bert_tiny"
    exec "$python" "$here/check_parts.py" "$binary" --models "$work/parts-one"
fi
stamp=$(cat "$here/requirements.txt" "$root"/tools/*.py | cksum | tr ' ' -)
models=$work/parts-$stamp
if [ ! -d "$models" ]; then
    fresh=$(mktemp -d "$work/making-XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    "$python" "$root/tools/make_client_models.py" "$fresh" --more
    mv "$fresh" "$models"
fi
"$python" "$here/check_parts.py" "$binary" --models "$models"
