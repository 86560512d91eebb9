#!/usr/bin/env python3
"""Makes src/data/catalogue.txt: for every module class of the model libraries, which attribute holds which class.

    python tools/catalogue/make_catalogue.py --dump LIBRARY... --work DIR       in an environment with that library
    python tools/catalogue/make_catalogue.py --merge --work DIR [--out DIR]     in any Python

A dump builds every model of the installed version on the meta device and writes DIR/<library>-<version>.json; one
environment per version of transformers fills one folder. Merging reads all of them and writes catalogue.txt and
DIR/failures.tsv. The same dumps give the same bytes. tools/README.md has the commands.
"""
from __future__ import annotations

import argparse
import collections
import pathlib
import sys
from typing import Dict, List, Tuple

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = ("transformers", "sources", "activations", "timm", "torchvision", "diffusers",
             "ultralytics", "sentence_transformers", "torch")


def merge(work: pathlib.Path, out: pathlib.Path) -> None:
    from catalogue.catalogue_dumped import Tree
    from catalogue.catalogue_format import write
    from catalogue.catalogue_merge import Merger
    trees = [Tree(path) for path in sorted(work.glob("*.json"))]
    if not trees:
        sys.exit(f"no dumps in {work}: make them with --dump")
    text = write(Merger(trees).merge())
    (out / "catalogue.txt").write_text(text)
    failures: Dict[Tuple[str, str], Dict[str, List[str]]] = collections.defaultdict(dict)
    for tree in trees:
        if tree.library != "sources":
            for name, reason in tree.failures:
                failures[tree.library, name].setdefault(reason, []).append(tree.version)
    lines = []
    for (library, name), reasons in sorted(failures.items()):
        for reason, versions in sorted(reasons.items()):
            lines.append(f"{library}\t{','.join(sorted(versions))}\t{name}\t{reason}")
    (work / "failures.tsv").write_text("".join(line + "\n" for line in lines))
    print(f"{len(text.encode())} bytes, {len(lines)} failures: {work / 'failures.tsv'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dump", nargs="+", choices=LIBRARIES, default=[], metavar="LIBRARY",
                        help=", ".join(LIBRARIES))
    parser.add_argument("--merge", action="store_true", help="write the catalogue from the dumps")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder of the dumps, outside the repository")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parents[1] / "src" / "data", help="folder of the catalogue")
    arguments = parser.parse_args()
    for library in arguments.dump:
        from catalogue.catalogue_dump import dump_library
        dump_library(library, arguments.work)
    if arguments.merge:
        merge(arguments.work, arguments.out)


if __name__ == "__main__":
    main()
