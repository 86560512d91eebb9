"""`refit --slots`: optional inputs for adapters at products of a weight, which ONNX Runtime fills at run time.

MODULE.lora_A.weight is [in, rank] and MODULE.lora_B.weight is [rank, out]. By default their rank is 0, and the model
computes
what it did before.
"""
from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from .. import program
from ..errors import InputError, TagsError
from ..onnx_file import _field, _numbers
from .model import FLOATS, Message, ModelFile, Tensor
from .proofs import CONVOLUTIONS
from .writer import Edit

_PRODUCTS = ("MatMul", "Gemm", *CONVOLUTIONS, "MatMulInteger", "MatMulNBits", "LSTM", "GRU", "RNN", "Attention",
             "FusedMatMul",
             "QGemm", "QLinearMatMul", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "QAttention",
             "MatMulIntegerToFloat",
             "FusedGemm")
_LEAST_IR = 4
_NODE_NAME, _LAYOUT = b"pkg.onnx_tag.node_name", b"pkg.onnx_tag.layout"


class Site(NamedTuple):
    product: int                                            # a node of the main graph
    last: int                                               # the Add of a bias behind it, or itself
    inner: int
    outer: int
    kind: int


class Slots:
    """The slots by module, and why other selected products have none."""

    def __init__(self, model: ModelFile, weights: Sequence[Dict[str, Any]], query: str) -> None:
        self.model = model
        self.main = model.nodes[0].chain[0] if model.nodes else None
        chosen = {(row["graph"], row["index"]) for row in _ask(model.path, query)}
        rows = [row for row in _ask(model.path, "untagged or not untagged") if not row["graph"]]
        self._modules = {row["index"]: row["module"] or "" for row in rows}
        self.sites: Dict[str, List[Site]] = {}
        self.refused: List[Dict[str, Any]] = []
        uses = [(row, use) for row in weights if row["parameters"] and row["initializer"] in model.by_name
                for use in self._uses(model.by_name[row["initializer"]])]
        # Every call of a module gets its adapter, as in PyTorch.
        wanted: Set[str] = {self._module(row, use[0]) for row, use in uses if ("", use[0]) in chosen}
        for row, use in uses:
            module = self._module(row, use[0])
            if module in wanted:
                self._add(module, row, *use)
        for row_ in self.refused:
            self.sites.pop(row_["module"], None)

    def _uses(self, tensor: Tensor) -> Iterator[Tuple[int, int, bool, bool]]:
        """Of products: the node, the input, whether the weight is turned before, and whether it is a whole one."""
        for node, slot in self.model.readers.get(tensor.name, ()):
            op = self.model.nodes[node].op
            if op in _PRODUCTS and slot in (1, 3):
                yield node, slot, False, True
            elif op in ("Transpose", "DequantizeLinear", "Cast", "Slice", "Reshape") and slot == 0:
                for reader, at in self.model.readers.get(self.model.nodes[node].outputs[0], ()):
                    if self.model.nodes[reader].op in _PRODUCTS and at in (1, 3):
                        yield reader, at, op == "Transpose", op == "Transpose"

    def _module(self, row: Dict[str, Any], node: int) -> str:
        """A tied weight has several owners: the node says which is meant."""
        own = self._modules.get(node, "")
        if _weight(own) in row["parameters"] or len(row["parameters"]) > 1:
            return own
        only: str = row["parameters"][0]
        return only[:-len(".weight")] if only.endswith(".weight") else own

    def _why_not(self, module: str, row: Dict[str, Any], node: int, slot: int, whole: bool) -> str:
        about, tensor = self.model.nodes[node], self.model.by_name[row["initializer"]]
        if about.op in CONVOLUTIONS:
            return "is a convolution"
        if tensor.kind not in FLOATS:
            return "is quantized"
        if about.op not in ("MatMul", "Gemm"):
            return f"is {about.op}, not MatMul or Gemm"
        if about.chain[0] != self.main or len(about.chain) != 2:
            return "is in a branch, a loop body or a local function"
        if len(tensor.shape) != 2 or slot != 1 or not whole:
            return "its weight is not one whole matrix on the right"
        if about.numbers.get("transA", 0) or self._alpha(node) != 1:
            return "has transA or alpha"
        if _weight(module) not in row["parameters"]:
            return f"its weight holds {', '.join(row['parameters'])[:300]}"
        return "its weight has a name of low confidence" if row["confidence"] == "low" else ""

    def _alpha(self, node: int) -> float:
        import struct
        for number, kind, value, _ in self.model._fields(self.model.nodes[node].chain[-1][1:]):
            if number == 5 and kind == 2:
                parts = {part: (form, span) for part, form, span, _ in self.model._fields(value)}
                if 1 in parts and 2 in parts and self.model._text(parts[1][1]) == "alpha" and parts[2][0] == 5:
                    begin, end = parts[2][1]
                    return float(struct.unpack("<f", self.model.data[begin:end])[0])
        return 1.0

    def _add(self, module: str, row: Dict[str, Any], node: int, slot: int, turned: bool, whole: bool) -> None:
        tensor = self.model.by_name[row["initializer"]]
        why = self._why_not(module, row, node, slot, whole)
        known = self.sites.get(module, [])
        if not why:
            outer = turned != bool(self.model.nodes[node].numbers.get("transB", 0))
            site = Site(node, self._last(node), tensor.shape[1 if outer else 0], tensor.shape[0 if outer else 1],
                        tensor.kind)
            if name_of(module, "A") in self.model.readers or name_of(module, "B") in self.model.readers:
                why = "has an adapter already"
            elif known and known[0][2:] != site[2:]:
                why = "its calls have weights of different shapes"
        if why:
            self.refused.append({"module": module, "node": f"#{node}", "op": self.model.nodes[node].op, "why": why})
        else:
            self.sites.setdefault(module, []).append(site)

    def _last(self, product: int) -> int:
        """A bias that is added behind a product belongs to it."""
        readers = self.model.readers.get(self.model.nodes[product].outputs[0], ())
        behind = next((self.model.nodes[node] for node, _ in readers), None) if len(readers) == 1 else None
        if behind is None or behind.op != "Add" or len(behind.chain) != 2 or \
                self.model.nodes[product].outputs[0] in self._outputs():
            return product
        biases = (self.model.by_name.get(value) for value in behind.inputs)
        is_bias = any(one is not None and len(one.shape) == 1 for one in biases)
        return next(node for node, _ in readers) if is_bias else product

    def _outputs(self) -> Set[str]:
        assert self.main is not None
        return {self.model._text(dict(self.model._messages(field[1:]))[1][1:])
                for number, field in self.model._messages(self.main[1:]) if number == 12}

    # ------------------------------------------------------------ writing
    def edits(self, rank: int) -> List[Tuple[Tuple[Message, ...], Edit]]:
        assert self.main is not None
        found: List[Tuple[Tuple[Message, ...], Edit]] = []
        taken = {value for node in self.model.nodes for value in (*node.inputs, *node.outputs)}
        inputs = b""
        for k, (module, sites) in enumerate(self.sites.items()):
            # A name for the rank of each slot: runtimes give sizes of one name one buffer, and ranks may differ.
            name = f"lora{k}_rank" + (f"_max{rank}" if rank else "")
            for which in "AB":
                inputs += _input(module, which, sites[0], name)
            for site in sites:
                own = self.model.nodes[site.last].chain[-1]
                text = self._nodes(module, site, taken)
                found.append(((self.main,), _edit(own.length - 1, own.end, text)))
        found.append(((self.main,), _edit(self.main.end, self.main.end, inputs)))
        for number, field in self.model._messages((0, len(self.model.data))):
            if number == 14 and _LAYOUT in self.model.data[field.begin:field.end]:      # widths of other numbers
                found.append(((), _edit(field.length - 1, field.end, b"")))
        return found

    def _nodes(self, module: str, site: Site, taken: Set[str]) -> bytes:
        """The last node of the site under another output, and the nodes behind it."""
        def fresh(value: str, what: str) -> str:
            name = f"{value}_{what}"
            while name in taken:
                name += "_"
            taken.add(name)
            return name

        result, product = self.model.nodes[site.last].outputs[0], self.model.nodes[site.product].outputs[0]
        base, a, b = fresh(result, "base"), fresh(product, "lora_A"), fresh(product, "lora_B")
        renamed = b"".join(_field(2, _bytes(base)) if number == 2 else self.model.data[begin:end]
                           for number, begin, end in self._pieces(self.model.nodes[site.last].chain[-1]))
        own = self.model.nodes[site.product].chain[-1]
        name = next((self.model._text(field[1:]) for number, field in self.model._messages(own[1:]) if number == 3), "")
        name = name or f"{module}/MatMul"
        tags = b"".join(self.model.data[begin:end] for number, begin, end in self._pieces(own)
                        if number == 9 and _NODE_NAME not in self.model.data[begin:end])
        x = self.model.nodes[site.product].inputs[0]

        def node(op: str, end: str, inputs: Sequence[str], output: str) -> bytes:
            return _field(1, b"".join(_field(1, _bytes(value)) for value in inputs) + _field(2, _bytes(output)) +
                          _field(3, _bytes(name + end)) + _field(4, op.encode()) + tags)

        return (_field(1, renamed) + node("MatMul", "_lora_A", (x, name_of(module, "A")), a) +
                node("MatMul", "_lora_B", (a, name_of(module, "B")), b) + node("Add", "_lora", (base, b), result))

    def _pieces(self, message: Message) -> Iterator[Tuple[int, int, int]]:
        """The fields of a message as they are: number, begin and end."""
        at = message.begin
        for number, kind, value, length in self.model._fields(message[1:]):
            end = value[1] if kind != 0 else length + len(_numbers(value))
            yield number, at, end
            at = end


def _ask(path: str, query: str) -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = json.loads(program.run(["query", path, query, "--json"]).out or "{}").get("nodes", [])
    return rows


def _weight(module: str) -> str:
    return f"{module}.weight" if module else "weight"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def name_of(module: str, which: str) -> str:
    return f"{module}{'.' if module else ''}lora_{which}.weight"


def _edit(begin: int, end: int, text: bytes) -> Edit:
    return Edit(begin, end, len(text), lambda: text)


def _input(module: str, which: str, site: Site, rank: str) -> bytes:
    """The initializer of rank 0, and the input that may take its place."""
    name, fixed = _bytes(name_of(module, which)), site.inner if which == "A" else site.outer
    dims = (fixed, 0) if which == "A" else (0, fixed)
    tensor = b"".join(_numbers(1 << 3, dim) for dim in dims) + _numbers(2 << 3, site.kind) + _field(8,
        name) + _field(9, b"")
    known, free = _field(1, _numbers(1 << 3, fixed)), _field(1, _field(2, rank.encode()))
    shape = known + free if which == "A" else free + known
    kind = _field(2, _field(1, _numbers(1 << 3, site.kind) + _field(2, shape)))
    return _field(5, tensor) + _field(11, _field(1, name) + kind)


def find(model: ModelFile, weights: Sequence[Dict[str, Any]], query: str, rank: Optional[int]) -> Slots:
    version = next((value for number, kind, value, _ in model._fields((0, len(model.data))) if number == 1
                    and kind == 0), 0)
    if version < _LEAST_IR:
        raise InputError(f"{model.path}: has IR version {version}; optional inputs need {_LEAST_IR}\n"
                         f"  set ir_version to {_LEAST_IR} with Python's onnx package, or export it again")
    if rank is not None and rank < 1:
        raise TagsError("--rank: a number from 1")
    return Slots(model, weights, query)
