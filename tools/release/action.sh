#!/usr/bin/env bash
# The steps of action.yml, for a runner with nothing but the action's folder and apt.
#
#   tools/release/action.sh key        prints a hash of the sources, the key of the cache
#   tools/release/action.sh install    puts onnx-tag on the PATH of later steps: VERSION from the package index, or without VERSION
#                                the cached or newly compiled program of this folder
#   tools/release/action.sh run        tags MODELS (files and globs, one a line) with ARGUMENTS (words, quoted as in a shell)
#
# Inputs arrive as variables: the text of a workflow is never a command.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build/action

fail() {
  echo "::error title=onnx-tag::$1"
  exit "${2:-1}"
}

case ${1:-} in
  key)
    cd "$root"
    find CMakeLists.txt CMakePresets.json cmake include python/onnx_tag/_version.py src third_party \
      tools/book/book_maker tools/catalogue/catalogue_maker web/dist -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16
    ;;
  install)
    if [ -n "${VERSION:-}" ]; then
      command -v python3 >/dev/null || fail "version $VERSION needs python3 with pip, which is missing; leave 'version' out"
      python3 -m pip install --quiet "onnx-tag==$VERSION" || fail "onnx-tag $VERSION is not on the package index; leave 'version' out"
      exit
    fi
    if [ ! -x "$build/onnx-tag" ]; then
      cd "$root"
      . scripts/setup.sh build
      configure release -DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF -B "$build"
      cmake --build "$build" --target onnx-tag
    fi
    "$build/onnx-tag" --version
    [ -z "${GITHUB_PATH:-}" ] || echo "$build" >>"$GITHUB_PATH"
    ;;
  run)
    shopt -s globstar nullglob
    files=()
    while IFS= read -r pattern; do
      IFS= # a pattern may have spaces
      # shellcheck disable=SC2206  # a glob
      [ -z "$pattern" ] || files+=($pattern)
    done <<<"${MODELS:-}"
    words=$(mktemp)
    trap 'rm -f "$words"' EXIT
    printf '%s' "${ARGUMENTS:-}" | xargs -r printf '%s\0' >"$words" 2>/dev/null ||
      fail "cannot parse the arguments: ${ARGUMENTS//$'\n'/ }" 2
    arguments=()
    while IFS= read -r -d '' word; do arguments+=("$word"); done <"$words"
    [ ${#files[@]} -gt 0 ] || fail "no file fits: ${MODELS//$'\n'/ }"
    onnx-tag tag --format github "${arguments[@]}" -- "${files[@]}"
    ;;
  *)
    echo "usage: tools/release/action.sh key|install|run" >&2
    exit 2
    ;;
esac
