# The Python environment of the client tests, made anew when requirements.txt changes; to be sourced.
#
#   here, root, work        set by the caller: this folder, the checkout, where things are kept between runs
#   skip WHY                ends with 77, which ctest takes as a skip; .ci/run takes a skip as a failure
#   $python                 the environment's Python

skip() { echo "$(basename "$0"): $1; nothing was checked" >&2; exit 77; }

export PIP_CACHE_DIR="$work/pip-cache"
command -v python3 >/dev/null || skip "python3 is not installed"
python=$work/venv/bin/python
if ! cmp -s "$here/requirements.txt" "$work/installed.txt"; then
    rm -f "$work/installed.txt"
    python3 -m venv --clear "$work/venv" || skip "no virtual environment could be made"
    # torch by itself first, so that its CPU build is not traded for a larger one by what needs it.
    "$python" -m pip install --quiet "$(grep '^torch==' "$here/requirements.txt")" &&
        "$python" -m pip install --quiet -r "$here/requirements.txt" || skip "the clients could not be installed"
    cp "$here/requirements.txt" "$work/installed.txt"
fi
