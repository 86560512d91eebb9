#!/usr/bin/env bash
# Runs clang-tidy over the files of src/ that differ from a commit; a finding is an error.
#
#   scripts/tidy.sh [COMMIT]    default: HEAD~1; the twelve files with the most changed lines
#   scripts/tidy.sh all         every file of src/: an hour on two cores
#
# Takes the compiler's options from build-asan, the build with clang, so that files of other systems are left out.
# scripts/release-check.sh runs it on the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."
of=('src/*.cc' ':!*_win32.cc' ':!*_macos.cc')
if [ "${1:-}" = all ]; then
  mapfile -t files < <(git ls-files "${of[@]}")
else
  mapfile -t files < <(git diff --numstat --diff-filter=d --no-renames "${1:-HEAD~1}" -- "${of[@]}" | sort -rn | head -12 | cut -f 3)
fi
if [ ${#files[@]} -eq 0 ]; then
  echo "tidy.sh: no file of src/ changed"
  exit 0
fi
printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 4 clang-tidy-14 -p build-asan --quiet
echo "tidy.sh: ${#files[@]} files are clean"
