#!/usr/bin/env bash
# What can be seen without compiling: the format of C++, names in code that belong into src/data, who writes files, and
# documents against what they describe. Takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh lint
git ls-files 'src/*.cc' 'src/*.h' 'include/*.h' 'tests/*.cc' 'tests/*.h' 'tools/*.cc' 'tools/*.h' |
  xargs -P "$(nproc)" -n 100 clang-format-14 --dry-run -Werror
for lint in names_in_code only_io_writes documents; do
  PYTHONDONTWRITEBYTECODE=1 python3 tools/lint/$lint.py
done
