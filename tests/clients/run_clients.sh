#!/bin/sh
# Tags models of every kind with BINARY and asks real clients about the result.
#
#   run_clients.sh BINARY [WORK_DIR]
#
# WORK_DIR (default: build/clients-venv of this checkout) keeps the Python environment, pip's downloads and the models
# between runs; environment and models are made anew when the files they come from change. One line per model; exit 1 if
# any check fails, 77 if the environment cannot be made (no network, no Python, no node), which ctest takes as a skip.
set -eu

. "$(dirname "$0")/environment.sh"
command -v node >/dev/null || skip "node is not installed"

# The models depend on their makers alone: a later run with another binary tags the same files.
stamp=$(cat "$here/requirements.txt" "$root"/tools/models/*.py "$root"/tools/truth/*.py | cksum | tr ' ' -)
models=$work/models-$stamp
if [ ! -d "$models" ]; then
    fresh=$(mktemp -d "$work/making-XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    "$python" "$root/tools/models/make_client_models.py" "$fresh"
    mv "$fresh" "$models"
fi

failed=0
checked=0
for model in "$models"/*/model.onnx; do
    folder=$(dirname "$model")
    name=$(basename "$folder")
    checked=$((checked + 1))
    # In the model's own folder, where its external data is.
    if "$binary" tag "$model" -o "$folder/tagged.onnx" --force >"$folder/tag.log" 2>&1 &&
        "$binary" tag "$model" -o "$folder/annotated.onnx" --keys tags,namespace,layer_ann --force \
            >>"$folder/tag.log" 2>&1 &&
        "$binary" tag "$model" -o "$folder/renamed.onnx" --rename-nodes --force >>"$folder/tag.log" 2>&1 &&
        "$binary" strip "$folder/renamed.onnx" -o "$folder/stripped.onnx" --force >>"$folder/tag.log" 2>&1 &&
        cmp "$model" "$folder/stripped.onnx" >>"$folder/tag.log" 2>&1; then
        "$python" "$here/check_clients.py" "$model" "$folder/tagged.onnx" --annotated "$folder/annotated.onnx" \
            --renamed "$folder/renamed.onnx" --name "$name" &&
            "$python" "$here/check_carry.py" "$binary" "$model" "$folder/tagged.onnx" --name "$name" ||
            failed=$((failed + 1))
    else
        echo "FAIL $name: not tagged: $(tail -n 1 "$folder/tag.log")"
        failed=$((failed + 1))
    fi
done
echo "selections in other tools:"
"$python" "$here/check_selections.py" "$binary" "$models" || failed=$((failed + 1))
[ "$checked" -gt 0 ] || { echo "run_clients.sh: no models in $models" >&2; exit 1; }
checked=$((checked + 1))
echo "$((checked - failed)) of $checked checks pass"
[ "$failed" -eq 0 ]
