#!/usr/bin/env bash
# Runs the hermetic tests of the Windows program; says what passed, what was skipped and what failed.
#
#   tools/release/windows-tests.sh [TARGET] [TEST...]
#   tools/release/windows-tests.sh                                          all of them, for this machine's processor
#   tools/release/windows-tests.sh aarch64-windows io_test commands_test
#
# TARGET is x86_64-windows or aarch64-windows. On Linux the script builds the tests and runs them under wine (Debian's
# packages wine and wine64), which needs a machine of TARGET's processor; on Windows it runs what was built. The output of
# each is build/cross/TARGET/said/TEST.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$(uname -m)-windows
target=$here
case ${1:-} in *-windows)
  target=$1
  shift
  ;;
esac
programs=build/cross/$target
tests=("$@")
[ $# -gt 0 ] || mapfile -t tests < <(sed -n 's/^onnx_tag_test(\([a-z_]*\).*/\1_test/p' tests/CMakeLists.txt)
runner=()
if [ "${OS:-}" != Windows_NT ]; then
  [ "$target" = "$here" ] || { echo "windows-tests.sh: wine cannot run $target here, only $here" >&2; exit 2; }
  command -v wine >/dev/null ||
    { echo "windows-tests.sh: wine is not installed: apt-get install wine wine64" >&2; exit 2; }
  ONNX_TAG_CROSS_OPTIONS=-DBUILD_TESTING=ON ONNX_TAG_CROSS_TARGETS="onnx-tag ${tests[*]}" tools/release/cross.sh "$target"
  export WINEPREFIX=$PWD/$programs/wine WINEDEBUG=-all
  unset DISPLAY
  runner=(wine)
fi
said=$programs/said
mkdir -p "$said"
# named WORD FILE: the tests after [ WORD ], each once.
named() { sed -n "s/^\[ *$1 *\] \([A-Za-z0-9_]*[./][^ ,]*\).*/\1/p" "$2" | sort -u; }
passed=0 skipped=() failed=()
for test in "${tests[@]}"; do
  file=$said/$test code=0
  timeout 1800 "${runner[@]}" "$programs/$test.exe" 2>&1 </dev/null | tr -d '\r' >"$file" || code=$?
  mapfile -t skips < <(named SKIPPED "$file")
  mapfile -t fails < <(named FAILED "$file")
  passes=$(named OK "$file" | wc -l)
  if ! grep -q '^\[==========\] .* ran\.' "$file"; then
    ended=$(cat <(named OK "$file") <(named SKIPPED "$file") <(named FAILED "$file") | sort -u)
    fails+=("$test ended with $code in $(named RUN "$file" | comm -23 - <(echo "$ended") | head -n 1)")
  fi
  echo "$test: $passes passed, ${#skips[@]} skipped, ${#fails[@]} failed"
  passed=$((passed + passes)) skipped+=("${skips[@]}") failed+=("${fails[@]}")
done
echo "${#tests[@]} programs: $passed tests passed, ${#skipped[@]} skipped, ${#failed[@]} failed"
[ ${#skipped[@]} -eq 0 ] || printf 'skipped: %s\n' "${skipped[@]}"
[ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
[ ${#failed[@]} -eq 0 ]
