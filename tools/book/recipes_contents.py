#!/usr/bin/env python3
"""Prints what src/data/recipes.txt holds, as the table of docs/how/recipes-format.md: recordings by library and exporter.

    python tools/book/recipes_contents.py [src/data/recipes.txt]
"""
from __future__ import annotations

import collections
import pathlib
import re
import sys
from typing import Counter, Dict, Set, Tuple

HERE = pathlib.Path(__file__).resolve().parent
EXPORTERS = ("ts17", "st17", "ts14", "dyn")
RECORDING = re.compile(r"(\w+)-([\d.]+)-(.+)-(\w+)$")


def main() -> None:
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "src" / "data" / "recipes.txt"
    counts: Dict[Tuple[str, str], Counter[str]] = collections.defaultdict(collections.Counter)
    families: Dict[Tuple[str, str], Set[str]] = collections.defaultdict(set)
    programs = roots = 0
    for line in path.read_text().splitlines():
        if line.startswith("= "):
            family, _, _, _, recordings = line[2:].split("\t")
            roots += 1
            for recording in recordings.split(" "):
                library, version, _, exporter = RECORDING.match(recording).groups()
                counts[library, version][exporter] += 1
                families[library, version].add(family)
        elif not line.startswith("#"):
            programs += 1
    total = sum(sum(count.values()) for count in counts.values())
    every = set().union(*families.values())
    print(f"{len(every)} families, {total} recordings, {roots} roots, {programs} programs, {path.stat().st_size} bytes\n")
    print("| library | families | " + " | ".join(f"`{e}`" for e in EXPORTERS) + " |")
    print("|---" * (2 + len(EXPORTERS)) + "|")
    for library, version in sorted(counts, key=lambda key: (key[0], [int(n) for n in key[1].split(".")])):
        cells = [str(counts[library, version][e] or "") for e in EXPORTERS]
        print(f"| {library} {version} | {len(families[library, version])} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
