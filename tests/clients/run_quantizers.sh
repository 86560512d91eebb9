#!/bin/sh
# Tries `select --for` with the real quantizers and float16 converters.
#
#   run_quantizers.sh BINARY [WORK_DIR]
#
# WORK_DIR as in run_clients.sh. One environment for neural-compressor, which needs older packages, one for Olive and Quark, and one for the others. One
# line per tool; exit 1 if any check fails, 77 if an environment cannot be made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { echo "usage: run_quantizers.sh BINARY [WORK_DIR]" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=${2:-$root/build/clients-venv}
mkdir -p "$work"
work=$(cd "$work" && pwd)
skip() { echo "run_quantizers.sh: $1; nothing was checked" >&2; exit 77; }
export PIP_CACHE_DIR="$work/pip-cache"
command -v python3 >/dev/null || skip "python3 is not installed"
model=$root/tests/models/bert_tiny/model.onnx

# tools NAME TOOL...: makes the environment of requirements-NAME.txt and tries these tools in it.
tools() {
    name=$1
    shift
    venv=$work/venv-$name
    if ! cmp -s "$here/requirements-$name.txt" "$work/installed-$name.txt"; then
        rm -f "$work/installed-$name.txt"
        python3 -m venv --clear "$venv" || skip "no virtual environment could be made"
        "$venv/bin/python" -m pip install --quiet -r "$here/requirements-$name.txt" || skip "$name could not be installed"
        cp "$here/requirements-$name.txt" "$work/installed-$name.txt"
    fi
    # neural-compressor makes a folder nc_workspace where it runs.
    (cd "$work" && "$venv/bin/python" -W ignore "$here/check_quantizers.py" "$binary" "$model" "$@") 2>"$work/$name.log" ||
        failed=1
}
failed=0
# modelopt changes ONNX Runtime's quantizer, so what uses it comes first.
tools quantizers nncf fp16 ort-fp16 matmulnbits ort-overrides npi qnn-overrides modelopt autocast
tools neural-compressor neural-compressor
tools olive olive-matmulnbits quark
exit $failed
