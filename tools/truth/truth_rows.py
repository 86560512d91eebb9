"""Which module made each node of an export, known for certain, and the .tsv files that hold it.

TorchScript scopes are call stacks of last attribute names, so they cannot be read back without guessing. Instead the
model is exported twice: once as a user would, once with every scope name replaced by the whole module path. The two
files have the same nodes in the same order, so the second one labels the first. The dynamo exporter writes the whole
path itself, as metadata.
"""
from __future__ import annotations

import ast
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set

import onnx
from onnx import GraphProto, ModelProto, NodeProto

if TYPE_CHECKING:
    import torch


class Place(NamedTuple):
    """A node and its identity: the path of the graph that holds it, and its index there."""
    graph: str
    index: int
    node: NodeProto


@dataclass(frozen=True)
class Row:
    """One line of a truth file; README.md in this folder explains the columns."""
    graph: str
    index: int
    op_type: str
    module: str
    classes: str
    accept: str
    layer: str
    kind: str

    def accepted(self) -> List[str]:
        return ["" if a == "<root>" else a for a in self.accept.split("|") if a]


def subgraphs(node: NodeProto) -> Iterator["tuple[str, GraphProto]"]:
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        for k, graph in enumerate(attribute.graphs):
            yield f"{attribute.name}[{k}]", graph


def places(model: ModelProto) -> List[Place]:
    """Every node of the file: main graph, subgraphs right after the node that holds them, then functions."""
    found: List[Place] = []

    def visit(nodes: Iterable[NodeProto], path: str) -> None:
        for index, node in enumerate(nodes):
            found.append(Place(path, index, node))
            for name, graph in subgraphs(node):
                visit(graph.node, f"{path}/{index}:{name}" if path else f"{index}:{name}")

    visit(model.graph.node, "")
    for function in model.functions:
        visit(function.node, f"fn:{function.domain}::{function.name}")
    return found


def graphs(model: ModelProto) -> List[GraphProto]:
    """The main graph and every subgraph."""
    return [model.graph, *(g for place in places(model) for _, g in subgraphs(place.node))]


def layer_of(path: str) -> str:
    """The path up to its last index: two nodes with different layers must never be mixed up."""
    atoms = path.split(".")
    ends = [i for i, atom in enumerate(atoms) if atom.isdigit()]
    return ".".join(atoms[:ends[-1] + 1]) if ends else ""


def is_below(child: str, parent: str) -> bool:
    return child != parent and (not parent or child.startswith(parent + "."))


def common(paths: Iterable[str]) -> str:
    """The lowest common ancestor."""
    columns = zip(*(p.split(".") if p else [] for p in paths))
    shared: List[str] = []
    for column in columns:
        if len(set(column)) != 1:
            break
        shared.append(column[0])
    return ".".join(shared)


class ModuleMap:
    """The PyTorch side of the truth: every module path, its class, its other names, and who owns which tensor."""

    def __init__(self, model: "torch.nn.Module") -> None:
        self.classes: Dict[str, str] = {}
        self.aliases: Dict[str, List[str]] = {}
        self.owner: Dict[str, str] = {}
        same: Dict[int, List[str]] = defaultdict(list)
        for path, module in model.named_modules(remove_duplicate=False):
            self.classes[path] = getattr(module, "original_name", None) or type(module).__name__
            self.aliases[path] = same[id(module)]
            same[id(module)].append(path)
        for tensors in (model.named_parameters, model.named_buffers):
            for name, _ in tensors(remove_duplicate=False):
                self.owner[name] = name.rpartition(".")[0]

    def class_path(self, module: str) -> str:
        atoms = module.split(".") if module else []
        return "/".join(self.classes[".".join(atoms[:i])] for i in range(len(atoms) + 1))

    def row(self, place: Place, module: str, accept: Iterable[str] = (), kind: str = "exact") -> Row:
        others = {*accept, *self.aliases[module]} - {module}
        return Row(place.graph, place.index, place.node.op_type, module, self.class_path(module),
                   "|".join(a or "<root>" for a in sorted(others)), layer_of(module), kind)


# ---------------------------------------------------------------- TorchScript
END = "@"


@contextmanager
def whole_paths() -> Iterator[None]:
    """While active, the TorchScript exporter writes `<whole path>@` where it would write the last attribute name."""
    import torch
    from torch.onnx._internal.torchscript_exporter import utils

    def name_modules(model: "torch.nn.Module", as_functions: object) -> Set[str]:
        scope = torch._C._jit_onnx_create_full_scope_name
        torch.jit._trace._trace_module_map = {
            module: scope(torch.typename(type(module)), path + END) for path, module in model.named_modules()}
        return set()

    before = utils._setup_trace_module_map
    utils._setup_trace_module_map = name_modules
    try:
        yield
    finally:
        utils._setup_trace_module_map = before


def scope_module(name: str, modules: ModuleMap) -> Optional[str]:
    """The module in a node name of the second export; None where the exporter gave the node no scope."""
    head, slash, _ = name.rpartition("/")
    if not slash:
        return None
    scopes = [s for s in head.split("/") if s]
    if not scopes:
        return ""
    path = scopes[-1].split(END)[0] if END in scopes[-1] else ".".join(scopes)
    return path if path in modules.classes else None


def torchscript_truth(plain: ModelProto, marked: ModelProto, modules: ModuleMap) -> List[Row]:
    nodes, twins = places(plain), places(marked)
    if [p[:2] + (p.node.op_type,) for p in nodes] != [p[:2] + (p.node.op_type,) for p in twins]:
        raise ValueError("the two exports differ")
    # A scripted model is not traced: the second export cannot mark its scopes, and the first one's are whole paths.
    scripted = not any(END in twin.node.name for twin in twins)
    found = [scope_module(place.node.name, modules) for place in (nodes if scripted else twins)]
    users = users_of(nodes)
    accept: List[Set[str]] = [set() for _ in nodes]
    for i, place in enumerate(nodes):                       # a child's tensor, used without calling the child
        accept[i] = {modules.owner[t] for t in place.node.input
                     if found[i] is not None and is_below(modules.owner.get(t, ""), found[i])}
    for i, place in enumerate(nodes):                       # the same child's product, whose weight has lost its name
        after = users[place.node.output[0]] if place.node.op_type in ("MatMul", "Transpose") else []
        if len(after) == 1 and found[after[0]] == found[i] and nodes[after[0]].node.op_type in ("Add", "Gemm"):
            accept[i] |= accept[after[0]]
    helpers = enclosed(nodes, found, users, plain)
    rows: List[Row] = []
    for i, place in enumerate(nodes):
        own = modules.owner.get(place.node.output[0]) if place.node.op_type == "Identity" else None
        if found[i] is not None:
            rows.append(modules.row(place, found[i], accept[i]))
        elif own is not None:                               # stands for a parameter merged with an equal one
            rows.append(modules.row(place, own, kind="inserted"))
        elif i in helpers:
            rows.append(modules.row(place, helpers[i], kind="inserted"))
    return rows


def users_of(nodes: List[Place]) -> Dict[str, List[int]]:
    users: Dict[str, List[int]] = defaultdict(list)
    for i, place in enumerate(nodes):
        for tensor in place.node.input:
            users[tensor].append(i)
    return users


def enclosed(nodes: List[Place], found: List[Optional[str]], users: Dict[str, List[int]],
             model: ModelProto) -> Dict[int, str]:
    """Nodes without a scope whose place is certain all the same: all users, and all makers of their inputs, are in
    one module. Anything less stays out of the truth."""
    maker = {t: i for i, place in enumerate(nodes) for t in place.node.output}
    results = {o.name for g in graphs(model) for o in g.output}
    known, helpers = dict(enumerate(found)), {}
    grew = True
    while grew:
        grew = False
        for i in reversed(range(len(nodes))):
            node = nodes[i].node
            if known[i] is not None or results & set(node.output) or any(True for _ in subgraphs(node)):
                continue
            homes = {known[u] for t in node.output for u in users[t]}
            makers = {known[maker[t]] for t in node.input if t in maker and nodes[maker[t]].node.op_type != "Constant"}
            if len(homes) == 1 and None not in homes and makers - {None} <= homes:
                known[i] = helpers[i] = homes.pop()
                grew = True
    return helpers


def function_truth(model: ModelProto, flat: ModelProto, rows: List[Row], modules: ModuleMap) -> List[Row]:
    """Truth for an export with modules as local functions, from the same export without.

    Calls expanded in order must give the flat file's operations one by one. A body belongs to its first call; a call
    is the module of the function's class among those it expands to.
    """
    bodies = {(f.domain, f.name): f for f in model.functions}
    flat_rows = {r.index: r for r in rows if not r.graph}
    found: Dict["tuple[str, int]", List[Row]] = defaultdict(list)
    callers: Dict[str, Set[str]] = defaultdict(set)
    position = 0

    def expand(nodes: Iterable[NodeProto], path: str) -> None:
        nonlocal position
        for index, node in enumerate(nodes):
            place, start = Place(path, index, node), position
            body = bodies.get((node.domain, node.op_type))
            if body is None:
                if flat.graph.node[position].op_type != node.op_type:
                    raise ValueError(f"expanded, node {position} is another")
                row = flat_rows.get(position)
                position += 1
            else:
                callers[f"fn:{node.domain}::{node.op_type}"].add(path)
                expand(body.node, f"fn:{node.domain}::{node.op_type}")
                inside = [flat_rows[i] for i in range(start, position) if i in flat_rows]
                row = min((r for r in inside if r.classes.split("/")[-1] == node.op_type.split(".")[0]),
                          key=lambda r: len(r.module))
            if row:
                found[path, index].append(modules.row(place, row.module, row.accepted(), row.kind))

    expand(model.graph.node, "")
    if position != len(flat.graph.node):
        raise ValueError("expanded, the files differ in length")
    result: List[Row] = []
    for place in places(model):
        if calls := found.get((place.graph, place.index)):
            # Called from several graphs, which call comes first is a matter of taste.
            others = [c.module for c in calls] if len(callers[place.graph]) > 1 else []
            result.append(modules.row(place, calls[0].module, [*calls[0].accepted(), *others], calls[0].kind))
    return result


# ---------------------------------------------------------------- dynamo
def metadata(node: NodeProto) -> Dict[str, str]:
    return {p.key: p.value for p in node.metadata_props}


def dynamo_truth(model: ModelProto, modules: ModuleMap) -> List[Row]:
    """From the exporter's own `name_scopes`: the last but one is the module, the last the operation.

    A node that a rewrite rule made has the scopes of whichever node was merged first, so it is left out, except for a
    convolution: its weight says which it is.
    """
    rows: List[Row] = []
    for place in places(model):
        notes = metadata(place.node)
        scopes = ast.literal_eval(notes.get("pkg.torch.onnx.name_scopes", "[]"))
        said = scopes[-2] if len(scopes) > 1 and scopes[-2] in modules.classes else None
        rewritten = "pkg.onnxscript.rewriter.rule_name" in notes
        owners = [modules.owner[t] for t in place.node.input if t in modules.owner]
        if place.node.op_type == "Conv" and owners and (rewritten or said != owners[0]):
            rows.append(modules.row(place, owners[0], () if said is None else [said], "fused"))
        elif said is not None and not rewritten:
            rows.append(modules.row(place, said, [o for o in owners if is_below(o, said)]))
    return rows


# ---------------------------------------------------------------- files
# What tests/truth keeps: classes are in hierarchy.json or recording.json, the rest follows from the module.
CHECKED_IN = ("graph", "index", "op_type", "module", "accept")


def write_rows(path: str, rows: Iterable[Row], columns: Optional[Iterable[str]] = None) -> None:
    columns = tuple(columns or (f.name for f in fields(Row)))
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        print(*columns, sep="\t", file=out)
        for row in rows:
            print(*(getattr(row, name) for name in columns), sep="\t", file=out)
