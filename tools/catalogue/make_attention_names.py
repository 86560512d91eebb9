#!/usr/bin/env python3
"""Counts how attention modules are called beside the norm applied before them.

    make_attention_names.py TRANSFORMERS_SOURCE > src/data/attention_names.txt

In a bias-free model whose scopes are gone, no name of the attention is left: the
weights were transposed and renamed. What is left are the norms of the layer, and
the attribute name of the norm tells, in most of transformers' layers, the attribute
name of the attention that reads it. This counts, over all layer classes, which
attention a layer's forward() calls right after which norm. Only the source text is
read; nothing is imported.
"""
import ast
import collections
import pathlib
import sys

MIN_COUNT = 3  # layer classes that must agree
MIN_SHARE = 0.8  # of the layers with that norm


def attributes(cls: ast.ClassDef) -> tuple[set[str], set[str]]:
    """Attribute names that hold an attention, and those that hold a norm."""
    attention, norm = set(), set()
    for node in ast.walk(cls):
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.Call)):
            continue
        target = node.targets[0]
        if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"):
            continue
        maker = ast.unparse(node.value.func)
        if "orm" in maker:
            norm.add(target.attr)
        elif "ttention" in maker or "ATTENTION" in maker:
            attention.add(target.attr)
    return attention, norm


def calls(forward: ast.FunctionDef) -> list[str]:
    """self.<name>(...) in the order of the text."""
    found = []
    for node in ast.walk(forward):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "self":
                found.append((node.lineno, -node.col_offset, node.func.attr))
    return [name for _, _, name in sorted(found)]


def count(folder: pathlib.Path) -> dict[str, collections.Counter]:
    pairs: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for path in sorted(folder.rglob("modeling_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for cls in (n for n in tree.body if isinstance(n, ast.ClassDef)):
            attention, norm = attributes(cls)
            forward = next((n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None)
            if not attention or not norm or forward is None:
                continue
            last = None
            for name in calls(forward):
                if name in norm:
                    last = name
                elif name in attention:
                    if last is not None:
                        pairs[last][name] += 1
                    last = None
    return pairs


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    print("# How an attention is called beside the norm applied before it, counted over the layer")
    print("# classes of transformers 5.22.2 by tools/catalogue/make_attention_names.py.")
    print("# norm attention layers of")
    for norm, names in sorted(count(pathlib.Path(sys.argv[1])).items()):
        total = sum(names.values())
        attention, layers = names.most_common(1)[0]
        if layers >= MIN_COUNT and layers >= MIN_SHARE * total:
            print(norm, attention, layers, total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
