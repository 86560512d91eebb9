#!/bin/sh
# Renames, taps, extracts and splits models of every kind with BINARY, and runs the results.
#
#   run_parts.sh BINARY [WORK_DIR [one|many|graphs|random|loss]]
#
# WORK_DIR as in run_clients.sh. `one` takes tests/models/bert_tiny alone; default: many. `graphs`: 60 of the models in tests/ with
# random weights, inside the file and beside it. `random`: 200 random models. `loss`: no command writes over what it reads. One
# line per model; exit 1 if any check fails, 77 if the environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"

if [ "${3:-many}" = one ]; then
    rm -rf "$work/parts-one"
    mkdir -p "$work/parts-one/bert_tiny"
    cp "$root/tests/models/bert_tiny/model.onnx" "$work/parts-one/bert_tiny"
    exec "$python" "$here/check_parts.py" "$binary" --models "$work/parts-one"
fi
case ${3:-many} in
    graphs)
        exec "$python" "$here/check_parts.py" "$binary" --graphs 60 "$work/../truth_files" ;;
    random) exec "$python" "$here/fuzz_parts.py" "$binary" 200 ;;
    loss) exec "$python" "$here/check_data_loss.py" "$binary" ;;
esac
stamp=$(cat "$here/requirements.txt" "$root"/tools/models/*.py "$root"/tools/truth/*.py | cksum | tr ' ' -)
models=$work/parts-$stamp
if [ ! -d "$models" ]; then
    fresh=$(mktemp -d "$work/making-XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    "$python" "$root/tools/models/make_client_models.py" "$fresh" --more
    mv "$fresh" "$models"
fi
"$python" "$here/check_parts.py" "$binary" --models "$models"
