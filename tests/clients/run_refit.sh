#!/bin/sh
# Writes new weights into exported, optimized and quantized models with BINARY, and compares with a second export.
#
#   run_refit.sh BINARY [WORK_DIR [one|many]]
#
# WORK_DIR as in run_clients.sh. `one`: small models, the forms that need no other package; default: every form that the
# environment can make. One line per form; exit 1 if a tensor is wrong, 77 if the environment cannot be made.
set -eu

. "$(dirname "$0")/environment.sh"

if [ "${3:-many}" = one ]; then
    exec "$python" "$here/check_refit.py" "$binary" --models conv,mlp --exporters script --forms plain,dynamic_int8,nbits4
fi
rm -rf "$work/refit-cases" "$work/refit-stress"
"$python" "$here/check_refit.py" "$binary" --cases "$work/refit-cases"
"$python" "$here/check_refit.py" "$binary" --fresh --forms plain,ort_extended
"$python" "$here/corrupt_refit.py" "$binary" "$work/refit-cases" 300
"$python" "$here/stress_refit.py" "$binary" "$work/refit-stress" --width 512
