#!/usr/bin/env python3
"""Measures `transfer FROM TO --map`: how many nodes of TO have the right node of FROM, and how many reasons are right.

  tools/truth/lineage_score.py --tool build/onnx-tag --truth DIR [--form GLOB] [--reasons FILE] [--worst N] [--misses FILE]

DIR has MODEL/dyn.onnx and MODEL/ts.onnx, and what tools made of them (MODEL/ts-ort.onnx). The tools keep the names of
tensors, and these are the truth. Then the names are removed: `anon` has the names of weights only, `bare` has none.

A node of TO stands for the node of FROM that made its output. If both have other operators, any node that went into
it is right. Nodes of FROM that compute the same count as one if the tool merged them. Several nodes that a tool made
of a few are a group: each stands for one of them, and Reshapes and conversions among them for one or for none. Not
counted are nodes of TO that no name explains, and the operator Constant.
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import fnmatch
import functools
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Dict, List, Optional, Set

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth.carry import CARRIERS, FUSED_ENDINGS, HELPER_ENDINGS, QUANTIZERS, Carrier
from truth.degrade import anon, bare, nometa
from truth.truth_rows import ModuleMap, graphs, places, subgraphs, users_of

CHANGES = {"named": (), "anon": (nometa, anon), "bare": (bare,)}


class NoModules(ModuleMap):
    def __init__(self) -> None:
        self.owner: Dict[str, str] = {}


class Truth(Carrier):
    """Which nodes of the old file each node of the new file stands for, and what became of the others."""

    def __init__(self, old: onnx.ModelProto, new: onnx.ModelProto) -> None:
        super().__init__(old, [], NoModules())
        self.new = places(new)
        self.weights = {w.name: w for g in graphs(old) for w in g.initializer}
        self.new_weights = {w.name for g in graphs(new) for w in g.initializer}
        self.made = {t: k for k, p in enumerate(self.new) for t in p.node.output if t}
        self.results = {o.name for g in graphs(new) for o in g.output}
        self.alive = {*self.made, *self.inputs, *self.new_weights}
        self.new_ops = collections.defaultdict(set)
        for p in self.new:
            self.new_ops[p.node.name].add(p.node.op_type)
        self.equal = self.classes()
        self.first: List[Optional[Set[int]]] = []  # None: unknown, empty: stands for none
        self.regions: List[Set[int]] = []          # the old nodes that went into it, or into a group with it
        self.optional: List[bool] = []             # one of a group, which may stand for none
        for place in self.new:
            starts = self.starts(place.node)
            region = set().union(*(self.region(i, self.alive) for i in starts or ()))
            helper = bool(HELPER_ENDINGS.search(place.node.name))
            self.regions.append(region)
            self.optional.append(helper or place.node.op_type in {*QUANTIZERS, *CARRIERS})
            self.first.append(self.standing(place.node, starts, region) if starts or helper or
                              place.node.op_type in QUANTIZERS else None)
        self.kept = {i for f, p in zip(self.first, self.new) for i in f or () if len(f) == 1 and p.node.op_type == self.op(i)}
        self.add_groups(users_of(self.new))
        gone = collections.defaultdict(set)
        for i in range(len(self.nodes)):
            if i not in self.kept:
                gone[self.equal[i]].add(i)
        # Of nodes that computed the same, one is left.
        for first in self.first:
            for i in list(first or ()):
                first |= gone[self.equal[i]]

    def op(self, i: int) -> str:
        return self.nodes[i].node.op_type

    def classes(self) -> List[int]:
        """By old node: equal numbers compute the same."""
        numbers: Dict[object, int] = {}
        values: Dict[str, object] = {}
        for name, weight in self.weights.items():
            whole = weight.SerializeToString().replace(name.encode(), b"") if any(
                len(getattr(weight, f)) for f in ("raw_data", "float_data", "int32_data", "int64_data")) else name
            values[name] = numbers.setdefault(whole, len(numbers))
        found = []
        for place in self.nodes:
            node = place.node
            alone = any(True for _ in subgraphs(node)) or "Random" in node.op_type
            key = (node.op_type, node.domain, tuple(values.get(t, t) for t in node.input), tuple(
                sorted(a.SerializeToString() for a in node.attribute)), place.graph, node.output[0] if alone else "")
            number = numbers.setdefault(key, len(numbers))
            found.append(number)
            for k, tensor in enumerate(node.output):
                values[tensor] = (number, k)
        return found

    def starts(self, node: onnx.NodeProto) -> List[int]:
        """The old nodes that gave the same."""
        if any(t + "_QuantizeLinear_Input" in self.made for t in node.output):
            return []
        makers = [self.maker[t] for t in node.output if t in self.maker]
        if makers:
            old = self.nodes[makers[0]].node
            # A helper that took over the name of the tensor; the node itself is still there.
            moved = old.op_type != node.op_type and old.name and old.op_type in self.new_ops[old.name]
            return makers if not moved or node.op_type in QUANTIZERS else []
        namesake = self.named.get(node.name)
        if namesake is not None and self.op(namesake) == node.op_type:
            return [namesake]
        stem = FUSED_ENDINGS.sub("", node.name)
        at = self.named.get(stem, self.maker.get(stem)) if stem != node.name else None
        return [] if at is None else [at]

    def standing(self, node: onnx.NodeProto, starts: List[int], region: Set[int]) -> Set[int]:
        same = {i for i in region if self.op(i) == node.op_type}
        either = set(region) if node.op_type in {*QUANTIZERS, *CARRIERS} else same or set(region)
        return same & set(starts) or either

    def add_groups(self, users: Dict[str, List[int]]) -> None:
        """Several nodes that a tool made of one, or of a few: those before the last give tensors that are new."""
        for k in reversed(range(len(self.new))):
            node = self.new[k].node
            after = {u for t in node.output for u in users[t]}
            if not after or any(t in self.maker or t in self.results for t in node.output):
                continue
            region = set.intersection(*(self.regions[last] for last in after))
            if len(region) > 1 or {self.new[last].node.op_type for last in after} != {self.op(i) for i in region}:
                self.regions[k] = region
                if region:
                    self.first[k] = self.standing(node, [], region)

    def reasons(self, i: int) -> "dict[str, Set[int]]":
        """What may be said of an old node that is gone: the reason, and the new nodes that it went into."""
        node = self.nodes[i].node
        found: Dict[str, Set[int]] = {}
        if i not in self.needed:
            found["dead"] = set()
        if i not in self.fed:
            found["folded"] = set()
        twins = {j for j in range(len(self.nodes)) if j != i and self.equal[j] == self.equal[i]}
        stands = {k for k, f in enumerate(self.first) if f and f & twins}
        if stands:
            found["merged"] = stands
        into = {k for k, region in enumerate(self.regions) if i in region}
        if into:
            found["fused"] = into
        if self.passed_on(i) or (into and self.op(i) in {*CARRIERS, "Expand"}):
            found["bypassed"] = set()
        return found

    def passed_on(self, i: int) -> bool:
        """Whether each reader that is left reads, in its place, what the node read."""
        node = self.nodes[i].node
        before = set(node.input)
        for t in node.input:
            for _ in range(8):
                maker = self.maker.get(t)
                if maker is None or t in self.alive:
                    break
                t = self.nodes[maker].node.input[0] if self.nodes[maker].node.input else ""
                before.add(t)
        found = False
        for t in node.output:
            for reader in self.users[t]:
                old = self.nodes[reader].node
                left = [p.node for p in self.new if p.node.op_type == old.op_type and (
                    p.node.name == old.name or set(p.node.output) & set(old.output))]
                if not left:
                    if self.op(reader) in CARRIERS and reader not in self.kept and self.passed_on(reader):
                        found = True
                    continue
                reads = {self.stem(r) for r in left[0].input}
                if not reads & before:
                    return False
                found = True
        return found

    def stem(self, tensor: str) -> str:
        while tensor in self.made and self.new[self.made[tensor]].node.op_type in QUANTIZERS:
            tensor = self.new[self.made[tensor]].node.input[0]
        return tensor

    def look_around(self, old: onnx.ModelProto) -> None:
        """Which old nodes an output needs, and which an input feeds with more than its shape."""
        open_ = [i for g in graphs(old) for o in g.output for i in [self.maker.get(o.name)] if i is not None]
        self.needed = set(open_)
        while open_:
            i = open_.pop()
            inner = [t for _, g in subgraphs(self.nodes[i].node) for n in g.node for t in n.input]
            for t in [*self.nodes[i].node.input, *inner]:
                j = self.maker.get(t)
                if j is not None and j not in self.needed:
                    self.needed.add(j)
                    open_.append(j)
        self.fed: Set[int] = set()
        for i, place in enumerate(self.nodes):
            node = place.node
            if node.op_type in ("Shape", "Size"):
                continue
            if "Random" in node.op_type or any(True for _ in subgraphs(node)) or any(
                    t in self.inputs or self.maker.get(t) in self.fed for t in node.input):
                self.fed.add(i)


def labels(nodes: List) -> Dict[str, int]:
    """By name, or by address where the name is not unique."""
    times = collections.Counter(p.node.name for p in nodes)
    found = {}
    for i, p in enumerate(nodes):
        found[p.node.name if p.node.name and times[p.node.name] == 1 else f"{p.graph}#{p.index}"] = i
    return found


def score(tool: str, names: List[str], form: pathlib.Path) -> "list[tuple]":
    source = form.with_name(form.name.split("-")[0] + ".onnx")
    old, new = onnx.load(source), onnx.load(form)
    truth = Truth(old, new)
    truth.look_around(old)
    old_labels = labels(truth.nodes)
    rows = []
    for name in names:
        changes = CHANGES[name]
        model = onnx.ModelProto()
        model.CopyFrom(new)
        for change in changes:
            change(model, truth.modules)
        with tempfile.TemporaryDirectory() as folder:
            file, lineage = pathlib.Path(folder) / "to.onnx", pathlib.Path(folder) / "map.jsonl"
            onnx.save(model, file)
            done = subprocess.run([tool, "transfer", source, file, "--map", lineage, "--sidecar", f"{folder}/tags.json",
                                   "--sidecar-only", "--quiet"], capture_output=True, text=True, check=False)
            if not lineage.exists():
                raise SystemExit(f"{form}: {done.stderr}")
            lines = [json.loads(line) for line in lineage.read_text(encoding="utf-8").splitlines()]
        new_labels = labels(places(model))
        for line in lines:
            where = (form.parent.name, form.stem, name)
            if "node" in line:
                k = new_labels[line["node"]]
                right, op = truth.first[k], truth.new[k].node.op_type
                if op == "Constant":
                    continue
                if right is None:
                    verdict = "unknown"
                elif not line["from"]:
                    verdict = "right" if truth.optional[k] or not right else "open"
                else:
                    verdict = "right" if old_labels[line["from"][0]] in right else "wrong"
                said = line["from"][0] if line["from"] else ""
                wanted = "|".join(truth.nodes[i].node.name for i in sorted(right or ()))
                said_op = truth.op(old_labels[said]) if said else ""
                rows.append((*where, "node", verdict, op, said_op, line["how"], line["confidence"], line["node"], said, wanted))
            elif "gone" in line:
                i = old_labels[line["gone"]]
                if truth.op(i) == "Constant":
                    continue
                reasons = truth.reasons(i)
                why, into = line["why"], new_labels.get(line.get("into", ""))
                good = why in reasons and (not reasons[why] or into in reasons[why])
                verdict = ("present" if i in truth.kept else "open" if why == "unknown" else "unknown" if not reasons
                           else "right" if good else "wrong")
                rows.append((*where, why, verdict, truth.op(i), "|".join(sorted(reasons)), "", "", line["gone"],
                             line.get("into", ""), "|".join(truth.new[k].node.name for k in sorted(set().union(*reasons.values())))))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--truth", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--form", default="*-*")
    parser.add_argument("--names", default="named,anon,bare")
    parser.add_argument("--reasons", type=pathlib.Path, help="a table of the reasons given for nodes that are gone")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--misses", type=pathlib.Path)
    args = parser.parse_args()
    tools = ("ort", "slim", "sim", "qdyn", "qdq")
    forms = [f for truth in args.truth for f in sorted(truth.glob("*/*.onnx"))
             if f.stem.split("-")[1:] in [[t] for t in tools] and fnmatch.fnmatch(f.stem, args.form)]
    rows: List[tuple] = []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for found in pool.map(functools.partial(score, args.tool, args.names.split(",")), forms):
            rows += found
    node_verdicts, gone_verdicts = ("right", "wrong", "open"), ("right", "wrong", "open", "present")
    print("names\ttool\tnodes\t" + "\t".join(node_verdicts) + "\t% right\tgone\tright reason\twrong reason\tno reason\tstill there")
    nodes, gone = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for row in rows:
        for tool in (row[1].split("-")[1], "all"):
            (nodes if row[3] == "node" else gone)[list(CHANGES).index(row[2]), tool == "all", tool][row[4]] += 1
    for key, count in sorted(nodes.items()):
        known, went = sum(count[v] for v in node_verdicts), gone[key]
        print(list(CHANGES)[key[0]], key[2], known, *(count[v] for v in node_verdicts), f"{100 * count['right'] / known:.2f}",
              sum(went.values()), *(went[v] for v in gone_verdicts), sep="\t")
    if args.reasons:
        counts = collections.defaultdict(collections.Counter)
        for row in rows:
            if row[3] != "node":
                counts[row[2], row[3]][row[4]] += 1
        args.reasons.write_text("names\treason\tnodes\tright\twrong\tno reason\tstill there\n" + "".join(
            "\t".join(map(str, (*key, sum(count.values()), *(count[v] for v in gone_verdicts)))) + "\n"
            for key, count in sorted(counts.items())), encoding="utf-8")
    kinds = collections.Counter((r[1], *r[2:9]) for r in rows if r[4] not in ("right", "unknown"))
    for kind, count in kinds.most_common(args.worst):
        print(f"{count:6}", *kind)
    if args.misses:
        args.misses.write_text("".join("\t".join(r) + "\n" for r in rows if r[4] not in ("right", "unknown")), encoding="utf-8")


if __name__ == "__main__":
    main()
