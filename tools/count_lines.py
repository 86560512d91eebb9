#!/usr/bin/env python3
"""Lines by folder: the body of the program (file, core, uses without transfer, app, base, include), the brain, and Python.

    tools/count_lines.py [COMMIT]

Counts all lines of *.cc and *.h, of *.py below python/onnx_tag, in the working tree or in COMMIT.
"""
import collections
import pathlib
import subprocess
import sys

BODY = ("src/file", "src/core", "src/uses", "src/app", "src/base", "include")
BRAIN = ("src/clues", "src/mapping", "src/uses/transfer")


def files(commit):
    words = ["git", "ls-tree", "-r", "--name-only", commit] if commit else ["git", "ls-files"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


def lines(commit, file):
    if not commit:
        path = pathlib.Path(file)
        return path.read_bytes().count(b"\n") if path.exists() else 0
    return subprocess.run(["git", "show", f"{commit}:{file}"], check=True, capture_output=True).stdout.count(b"\n")


def folder_of(file):
    """The part and the folder of a file; nothing for a file that does not count."""
    if file.startswith("python/onnx_tag/") and file.endswith(".py"):
        return "python", "python/onnx_tag"
    if not file.endswith((".cc", ".h")):
        return None
    for part, folders in (("brain", BRAIN), ("body", BODY)):
        for folder in folders:
            if file.startswith(folder + "/"):
                depth = 3 if folder in ("src/uses", "src/app", "src/file", "src/core") else 2
                return part, "/".join(file.split("/")[:max(depth, folder.count("/") + 1)]) if folder != "include" else folder
    return None


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else ""
    counts = collections.Counter()
    totals = collections.Counter()
    for file in files(commit):
        place = folder_of(file)
        if place is None:
            continue
        number = lines(commit, file)
        counts[place] += number
        totals[place[0]] += number
    for (part, folder), number in sorted(counts.items()):
        print(f"{number:8,}  {part:7} {folder}")
    for part, number in totals.items():
        print(f"{number:8,}  {part}")
    print(f"{totals['body'] + totals['brain']:8,}  src and include")


if __name__ == "__main__":
    main()
