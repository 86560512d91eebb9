"""Carries truth from an export to what another tool made of it.

Optimizers and quantizers rename and merge nodes, but the tensors that survive keep their names. So a new node is
known by the tensors it makes: it stands for the old node that made that tensor, and for every old node in between
whose own tensors are gone. Where even that does not settle the module, the node gets no row: a missing row costs
nothing, a false one would punish the right answer.
"""
from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Dict, Iterable, List, Optional, Set, Tuple

from onnx import ModelProto

from truth.truth_rows import ModuleMap, Place, Row, common, graphs, places, subgraphs, users_of

QUANTIZERS = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}
# Merged into a neighbour, these leave that neighbour what it was.
CARRIERS = {"Identity", "Cast", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Dropout", "Flatten"}
TENSOR_ENDINGS = ("", "_QuantizeLinear_Input", "_QuantizeLinear_Output", "_DequantizeLinear_Output", "_quantized")
FUSED_ENDINGS = re.compile(
    r"((_token_\d+)?/(MatMulAddFusion|LayerNormFusion/|SimplifiedLayerNormFusion/|MatmulTransposeFusion/"
    r"|MatMulScaleFusion/|GemmTransposeFusion/|QuickGeluFusion/)(_token_\d+)?|_quant|_Q\d)$")
HELPER_ENDINGS = re.compile(
    r"(_quant_scales_mul|_quant_output_scale_mul|_output_quantized_cast|_(input|output)_cast_?\d+)$")


def unique(pairs: Iterable[Tuple[str, int]]) -> Dict[str, int]:
    """Name to node, only where the name says which."""
    seen: Dict[str, Set[int]] = defaultdict(set)
    for name, i in pairs:
        if name:
            seen[name].add(i)
    return {name: at.pop() for name, at in seen.items() if len(at) == 1}


class Carrier:
    """The old file with its truth, ready to answer for new ones."""

    def __init__(self, old: ModelProto, rows: List[Row], modules: ModuleMap) -> None:
        self.modules = modules
        self.nodes = places(old)
        at = {(r.graph, r.index): r for r in rows}
        self.rows: List[Optional[Row]] = [at.get((p.graph, p.index)) for p in self.nodes]
        self.maker = unique((t, i) for i, p in enumerate(self.nodes) for t in p.node.output)
        self.named = unique((p.node.name, i) for i, p in enumerate(self.nodes))
        self.users = users_of(self.nodes)
        self.weights = {w.name for g in graphs(old) for w in g.initializer}
        self.inputs = {v.name for g in graphs(old) for v in g.input} - self.weights
        self.live = self.depends_on_input()

    def depends_on_input(self) -> Set[int]:
        """Nodes that no tool can fold into a constant."""
        live: Set[int] = set()
        fresh = True
        while fresh:
            fresh = {i for i, p in enumerate(self.nodes) if i not in live and (
                any(t in self.inputs or self.maker.get(t) in live for t in p.node.input)
                or any(True for _ in subgraphs(p.node)))}
            live |= fresh
        return live

    def carry(self, new: ModelProto) -> List[Row]:
        self.new = places(new)
        self.new_maker = {t: p.node for p in self.new for t in p.node.output if t}
        self.new_ops = {p.node.name: p.node.op_type for p in self.new if p.node.name}
        alive = {*self.new_maker, *self.inputs, *(w.name for g in graphs(new) for w in g.initializer)}
        merged: Dict[int, Tuple[int, Set[int]]] = {}
        times: Counter = Counter()
        for k, place in enumerate(self.new):
            starts = [self.maker[t] for t in place.node.output if t in self.maker]
            if starts and place.node.op_type not in QUANTIZERS:
                merged[k] = starts[0], set().union(*(self.region(i, alive) for i in starts))
                times.update(merged[k][1])
        rows: List[Optional[Row]] = []
        for k, place in enumerate(self.new):
            start, region = merged.get(k, (None, set()))
            # What could be folded away, or went into several new nodes, tells nothing about this one.
            region = {i for i in region if i == start or (i in self.live and times[i] == 1)}
            rows.append(self.judge(place, start, region))
        self.add_feeders(rows, {o.name for g in graphs(new) for o in g.output})
        return [row for row in rows if row]

    def region(self, start: int, alive: Set[str]) -> Set[int]:
        """The old node, and those before it whose tensors no longer exist."""
        seen, open_ = {start}, [start]
        while open_:
            for tensor in self.nodes[open_.pop()].node.input:
                i = self.maker.get(tensor)
                if i is not None and i not in seen and tensor not in alive:
                    seen.add(i)
                    open_.append(i)
        return seen

    def judge(self, place: Place, start: Optional[int], region: Set[int]) -> Optional[Row]:
        op, name = place.node.op_type, place.node.name
        namesake = self.named.get(name)
        if namesake is not None and self.nodes[namesake].node.op_type != op:
            namesake = None
        if op in QUANTIZERS and namesake is None:
            return self.around_tensor(place)
        if start is None:
            return self.same(place, namesake) if namesake is not None else self.by_ending(place)
        old = self.nodes[start].node
        if region == {start} and old.op_type == op:
            return self.same(place, start)
        if old.op_type != op and old.name and self.new_ops.get(old.name) == old.op_type:
            return self.like(place, self.rows[start], "inserted")   # a helper that took over the name of the tensor
        twins = [i for i in region if self.nodes[i].node.op_type == op]
        rest = [i for i in region if i not in twins]
        if len(twins) == 1 and all(self.nodes[i].node.op_type in CARRIERS for i in rest):
            return self.same(place, twins[0], [self.rows[i].module for i in rest if self.rows[i]])
        return self.fused(place, start, region)

    def same(self, place: Place, i: int, also: Iterable[str] = ()) -> Optional[Row]:
        row = self.rows[i]
        return row and self.modules.row(place, row.module, [*row.accepted(), *also], row.kind)

    def like(self, place: Place, row: Optional[Row], kind: str) -> Optional[Row]:
        return row and self.modules.row(place, row.module, row.accepted(), kind)

    def fused(self, place: Place, start: int, region: Set[int]) -> Optional[Row]:
        known = [self.rows[i] for i in sorted(region) if self.rows[i]]
        homes = {row.module for row in known}
        if not homes or (self.rows[start] is None and len(homes) > 1):
            return None
        main = self.rows[start] or known[0]
        also = {a for row in known for a in row.accepted()}
        for tensor in place.node.input:                     # a parameter it reads, which its owner read before
            owner = self.modules.owner.get(tensor)
            if any(self.rows[u] and self.rows[u].module == owner for u in self.users[tensor]):
                also.add(owner)
        return self.modules.row(place, main.module, {*homes, common(homes), *also}, "fused")

    def by_ending(self, place: Place) -> Optional[Row]:
        """A node named after an old one, with what the tool appends."""
        for endings, kind in ((FUSED_ENDINGS, "fused"), (HELPER_ENDINGS, "inserted")):
            stem = endings.sub("", place.node.name)
            i = self.named.get(stem, self.maker.get(stem)) if stem != place.node.name else None
            if i is not None:
                return self.like(place, self.rows[i], kind)
        return None

    def around_tensor(self, place: Place) -> Optional[Row]:
        """A quantizer belongs to what makes the tensor it is put around, or owns it; its users are right as well."""
        tensor = place.node.input[0]
        for _ in range(3):
            before = self.new_maker.get(tensor)
            if before is None or before.op_type not in QUANTIZERS:
                break
            tensor = before.input[0]
        for name in (*place.node.output, place.node.input[0], tensor):
            for ending in TENSOR_ENDINGS:
                stem = name[:len(name) - len(ending)] if name.endswith(ending) else ""
                if stem in self.maker or stem in self.weights:
                    return self.home(place, stem)
        return None

    def home(self, place: Place, tensor: str) -> Optional[Row]:
        users = {self.rows[u].module for u in self.users[tensor] if self.rows[u]}
        if tensor in self.maker:
            row = self.rows[self.maker[tensor]]
            return row and self.modules.row(place, row.module, users, "inserted")
        owner = self.modules.owner.get(tensor)
        if owner is None and len(users) != 1:
            return None
        return self.modules.row(place, users.pop() if owner is None else owner, users, "inserted")

    def add_feeders(self, rows: List[Optional[Row]], results: Set[str]) -> None:
        """A new node that only feeds one node, which a tool made too, is part of the same work."""
        users = users_of(self.new)
        for k in reversed(range(len(self.new))):
            node = self.new[k].node
            if rows[k] or node.name in self.named or any(t in self.maker or t in results for t in node.output):
                continue
            after = {u for t in node.output for u in users[t]}
            row = rows[after.pop()] if len(after) == 1 else None
            if row and row.kind in ("fused", "inserted"):
                rows[k] = self.like(self.new[k], row, "inserted")
