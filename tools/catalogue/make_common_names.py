#!/usr/bin/env python3
"""Makes src/data/common_names.txt: the names that say little about whose model a file is.

  tools/catalogue/make_common_names.py PLAIN... > src/data/common_names.txt

PLAIN: folders with NET/classes.json (module -> class), one for each plain network that no library ships. A name is an attribute
with the attribute that its owner has: `attn.qkv`; `.norm` in a model itself; `*` is any list index. It is common if a plain network
has it, or if at least COMMON libraries of the catalogue have it. Parameters count as attributes.
"""
import collections
import json
import pathlib
import sys
from typing import Dict, Set, Tuple

import catalogue_format

COMMON = 3
Name = Tuple[str, str]
HEADER = """\
# Names that say little about whose model a file is. Made by tools/catalogue/make_common_names.py; do not edit.
# Columns: a name, in how many libraries of the catalogue it is, in how many plain networks (of {plain}). A name that is missing
# here is in at most {most} libraries and in no plain network.
libraries {libraries}
"""


def names_of_libraries(catalogue: catalogue_format.Catalogue) -> Dict[Name, Set[str]]:
    places = collections.defaultdict(lambda: {""})      # the attributes that have a class
    for owner in catalogue.classes.values():
        for path, member in owner.members.items():
            for alternative in member.alternatives:
                table = not alternative.key[0]
                for key in catalogue.tables.get(alternative.key[1], {}) if table else [alternative.key]:
                    places[key].add(path[-1])
    libraries = collections.defaultdict(set)
    for key, owner in catalogue.classes.items():
        library = catalogue.sections[owner.section].library
        for path in owner.members:
            for before, name in zip(path, path[1:]):
                libraries[before, name].add(library)
        own = {name.lstrip("-") for name in {*owner.params, *owner.buffers}} - {"weight", "bias"}     # everybody has these
        for name in {path[0] for path in owner.members} | own:
            for place in places[key]:
                libraries[place, name].add(library)
    return libraries


def names_of_network(modules: Dict[str, str]) -> Set[Name]:
    names = set()
    for module in modules:
        before, name = ["", *module.split(".")][-2:]
        for outer in {before, "*" if before.isdigit() else before}:
            names |= {(outer, inner) for inner in {name, "*" if name.isdigit() else name}}
    return names


def main() -> None:
    root = pathlib.Path(__file__).parents[2]
    catalogue = catalogue_format.read((root / "src/data/catalogue.txt").read_text(encoding="utf-8"))
    libraries = names_of_libraries(catalogue)
    networks = [names_of_network(json.loads(path.read_text(encoding="utf-8")))
                for folder in sys.argv[1:] for path in sorted(pathlib.Path(folder).glob("*/classes.json"))]
    plain = collections.Counter(name for names in networks for name in names)
    count = len({section.library for section in catalogue.sections.values()})
    print(HEADER.format(plain=len(networks), most=COMMON - 1, libraries=count), end="")
    for name in sorted(libraries):
        if len(libraries[name]) >= COMMON or plain[name]:
            print(".".join(name), len(libraries[name]), plain[name])


if __name__ == "__main__":
    main()
