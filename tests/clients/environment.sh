# How the client tests begin; to be sourced with their arguments: BINARY [WORK_DIR ...]. The Python environment is made anew
# when requirements.txt changes.
#
#   here, root, binary      this folder, the checkout, the program
#   work                    where things are kept between runs
#   skip WHY                ends with 77, which ctest takes as a skip; .ci/run takes a skip as a failure
#   $python                 the environment's Python

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { sed -n 's/^#   \(run_\)/usage: \1/p' "$0" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
[ -x "$binary" ] || { echo "$(basename "$0"): $1 is no program" >&2; exit 2; }
work=${2:-$root/build/clients-venv}
mkdir -p "$work"
work=$(cd "$work" && pwd)
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
