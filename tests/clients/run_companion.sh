#!/bin/sh
# Tests of python/onnx_tag with real torch: types, style, installation, and what it records and answers.
#
#   run_companion.sh BINARY [WORK_DIR]
#
# WORK_DIR as in run_clients.sh, whose environment it shares. Exit 1 if anything fails or is skipped, 77 if the
# environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"

bin=$(dirname "$python")
cd "$root/python"
"$bin/ruff" check --no-cache --config ../pyproject.toml onnx_tag tests ../docs/examples ../tests/shells "$here/check_scale_out.py" "$here/check_compare.py" "$here/compare_models.py"
"$bin/mypy" --config-file ../pyproject.toml --cache-dir "$work/mypy" onnx_tag

# As a user gets it: the package with the program, which is built already.
rm -rf "$work/companion"
"$python" -m pip install --quiet --no-deps --no-build-isolation --target "$work/companion/installed" \
    -Ccmake.define.ONNX_TAG_PREBUILT="$binary" -Ccmake.define.ONNX_TAG_DOCUMENTS="$(dirname "$binary")/documents" "$root"
(cd / && PYTHONPATH="$work/companion/installed" "$python" -m onnx_tag --version)
(cd / && PYTHONPATH="$work/companion/installed" "$python" -m onnx_tag strategies >/dev/null)
[ -e "$work/companion/installed/onnx_tag/py.typed" ]

ONNX_TAG_BINARY=$binary PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider -rs -W ignore tests \
    >"$work/companion.log" 2>&1 || { cat "$work/companion.log"; exit 1; }
tail -n 3 "$work/companion.log"
! grep -q SKIPPED "$work/companion.log" || { echo "run_companion.sh: a test was skipped" >&2; exit 1; }
