#!/usr/bin/env python3
"""Sizes of src/data/catalogue.txt, and a test of its text: read back, written again, and held against dumped models.

    python tools/catalogue/check_catalogue.py [CATALOGUE] [--work DIR] [--sample N]

With --work (the dumps it was made from) N public models, 50 by default, are drawn with a fixed seed; every module of
theirs must have a place in the catalogue, with its class among the alternatives, in its version, with its own weight
and bias. Exit 1 on a finding.
"""
from __future__ import annotations

import argparse
import collections
import pathlib
import random
import re
import sys
import zlib
from typing import Iterator, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from catalogue.catalogue_format import Catalogue, Class, Member, read, write
from catalogue.catalogue_dumped import Tree

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ("ACT", "AUTO")


def sizes(catalogue: Catalogue, text: str) -> None:
    rows = collections.defaultdict(collections.Counter)
    for cls in catalogue.classes.values():
        row = rows[catalogue.sections[cls.section].library]
        row["classes"] += 1
        row["public"] += cls.mark == "!"
        row["models"] += cls.mark in ("!", ":")
        row["pairs"] += len(cls.members)
        for member in cls.members.values():
            kinds = {alternative.key for alternative in member.alternatives if alternative.key[1] not in TABLES}
            row["ambiguous"] += len(kinds) > 1
            row["alternatives"] += len(member.alternatives)
        row["parameters"] += len(cls.params)
        row["buffers"] += len(cls.buffers)
        row["by position"] += len(cls.positions)
    names = ("classes", "models", "public", "pairs", "ambiguous", "alternatives", "parameters", "buffers",
             "by position")
    print(f"{'':14}" + "".join(f"{name:>13}" for name in names))
    total = sum(rows.values(), collections.Counter())
    for library, row in [*sorted(rows.items()), ("all", total)]:
        print(f"{library:14}" + "".join(f"{row[name]:13}" for name in names))
    raw = text.encode()
    print(f"{len(catalogue.sections)} sections, {len(raw)} bytes, {len(zlib.compress(raw, 9))} as gzip -9; "
          f"{100 * total['ambiguous'] / total['pairs']:.1f} % of the pairs are ambiguous")
    for letter, (name, number) in zip("abcdefgh", catalogue.versions):
        count = sum(ord(letter) - ord("a") in cls.versions for cls in catalogue.classes.values())
        print(f"  {letter} {name} {number}: {count} classes")


class Holder:
    """Holds one dumped model against the catalogue."""

    def __init__(self, catalogue: Catalogue, tree: Tree) -> None:
        self.catalogue, self.tree = catalogue, tree
        self.version: Optional[int] = None
        release = ("transformers", tree.version if tree.package == "transformers" else tree.beside)
        if release in catalogue.versions:
            self.version = catalogue.versions.index(release)
        self.count = 0

    def known(self, versions: frozenset, cls: Class) -> bool:
        return self.version is None or not cls.versions or self.version in versions

    def findings(self, node: int, path: str = "") -> Iterator[str]:
        name, params, buffers, _ = self.tree.nodes[node]
        self.count += 1
        cls = self.catalogue.classes.get(name)
        if cls is None:
            yield f"{path}: no class {name}"
            return
        if not self.known(cls.versions, cls):
            yield f"{path}: {name[1]} is not in this version"
        for names, store in ((params, cls.params), (buffers, cls.buffers)):
            for own in names:
                if own not in store or not self.known(store[own].versions, cls):
                    yield f"{path}: {name[1]} has no {own}"
            for own, presence in store.items():
                if not presence.optional and self.known(presence.versions, cls) and own not in names:
                    yield f"{path}: {name[1]} lacks {own}"
        yield from self.inside(cls, (), node, path)

    def inside(self, cls: Class, at: Tuple[str, ...], node: int, path: str) -> Iterator[str]:
        seen = set()
        for key, kid, _ in self.tree.nodes[node][3]:
            below = f"{path}.{key}" if path else key
            step = key if at + (key,) in cls.members else "*"
            member = cls.members.get(at + (step,))
            seen.add(step)
            if member is None:
                yield f"{below}: {cls.name} has no member {'.'.join(at + (key,))}"
                continue
            if not self.accepts(cls, member, kid):
                yield f"{below}: {self.tree.nodes[kid][0]} is not an alternative in {cls.name}"
            if self.tree.container(kid):
                self.count += 1
                yield from self.inside(cls, at + (step,), kid, below)
            else:
                yield from self.findings(kid, below)
        for known, member in cls.members.items():
            if known[:-1] == at and not member.presence.optional and known[-1] not in seen | {"*"} and self.known(
                    member.presence.versions, cls):
                if "*" not in seen or not known[-1].isdigit():
                    yield f"{path}: {cls.name} lacks {'.'.join(known)}"

    def accepts(self, cls: Class, member: Member, node: int) -> bool:
        name, params, _, _ = self.tree.nodes[node]
        own = "".join(letter for letter, key in (("w", "weight"), ("b", "bias")) if key in params) or "0"
        return any(alternative.key == name and alternative.own in (None, own)
                   and self.known(alternative.versions, cls) for alternative in member.alternatives)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalogue", nargs="?", type=pathlib.Path, default=HERE.parents[1] / "src" / "data" / "catalogue.txt")
    parser.add_argument("--work", type=pathlib.Path, help="folder of the dumps")
    parser.add_argument("--sample", type=int, default=50)
    arguments = parser.parse_args()
    text = arguments.catalogue.read_text()
    catalogue = read(text)
    sizes(catalogue, text)
    findings: List[str] = []
    if write(catalogue) != text:
        findings.append("the text read and written again is not the same")
    for line in text.splitlines():
        if re.search(r"\s$|[^\x09\x20-\x7e]", line):
            findings.append(f"odd character in: {line[:60]}")
    if arguments.work:
        models = []
        for path in sorted(arguments.work.glob("*.json")):
            tree = Tree(path)
            models += [(tree, root) for root in tree.roots if root["auto"] and not tree.container(root["node"])]
        count = 0
        drawn = random.Random(5).sample(models, min(arguments.sample, len(models)))
        for tree, root in drawn:
            holder = Holder(catalogue, tree)
            findings += [f"{tree.library} {tree.version} {root['name']} {finding}"
                         for finding in holder.findings(root["node"])]
            count += holder.count
        print(f"{len(drawn)} models of {len(models)} held against it, {count} modules")
    for finding in findings[:20]:
        print(finding)
    print(f"{len(findings)} findings")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
