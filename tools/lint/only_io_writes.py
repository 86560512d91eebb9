#!/usr/bin/env python3
"""Outputs go through one gate: OutputFile and its like in src/file/io.

No other source file opens, makes, renames or removes files, or includes headers of the system; and no command but the
gate makes an OutputFile.
"""
from __future__ import annotations

import re

import sources

WRITES = re.compile(
    r"\b(ofstream|fstream|fopen|freopen|O_WRONLY|O_RDWR|O_CREAT|mkstemp|renameat2?|unlink|unlinkat|linkat|symlink|truncate"
    r"|ftruncate|mkdir|create_directory|create_directories|create_hard_link|create_symlink|copy_file|remove_all|resize_file"
    r"|last_write_time)\b|fs::(rename|remove|copy|permissions)\b|::(rename|remove|open)\(")
HEADERS = re.compile(r"#include <(unistd|fcntl|dirent|windows|io|sys/\w+)\.h>")
MAKES = re.compile(r"\bOutputFile::Create\b")
# main() gets the standard streams from the system.
MAY_INCLUDE = {"app/cli/main.cc"}
# The commands have one gate, programs of others another.
GATES = {"app/commands/output/pending_outputs.cc", "uses/library/tagger.cc"}


def main() -> None:
    findings, gates = [], set()
    for file in sources.code("src"):
        name = file.relative_to(sources.ROOT / "src").as_posix()
        if name.startswith("file/io/"):
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            line = line.partition("//")[0]
            place = f"src/{name}:{number}: {line.strip()}"
            if WRITES.search(line):
                findings.append(f"{place}: only src/file/io touches files")
            if HEADERS.search(line) and name not in MAY_INCLUDE:
                findings.append(f"{place}: only src/file/io includes headers of the system")
            if MAKES.search(line):
                gates.add(name)
                if name not in GATES:
                    findings.append(f"{place}: only {' and '.join(sorted(GATES))} make outputs")
    findings += [f"{gate} makes no outputs: mend GATES" for gate in sorted(GATES - gates)]
    sources.end("only_io_writes", findings)


main()
