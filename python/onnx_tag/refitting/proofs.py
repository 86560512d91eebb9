"""Which base, rounded how, gives the bytes that a tensor has."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from .bases import WEAK, Base, Library, Norm, Side, Source, is_regular, module_of
from .model import BFLOAT16, FLOAT, FLOAT16, FLOATS, INT8, INT32, UINT8, ModelFile, Tensor
from .schemes import CLAMPS, SCHEMES, Groups, Scheme, cast, dequantized, quantize

if TYPE_CHECKING:
    from ..arrays import Array

    Make = Callable[[Side], Dict[str, Array]]

CONVOLUTIONS = ("Conv", "ConvTranspose", "FusedConv", "ConvInteger", "QLinearConv", "NhwcConv", "NhwcFusedConv")
RECURRENT = ("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
# Nodes that hand the numbers of their first input on.
CARRIERS = ("Gather", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Flatten", "Slice", "Expand")
# The slots of quantized weights, of their scales and of their zero points.
_SLOTS: Dict[str, Tuple[Tuple[int, int, int], ...]] = {
    "DequantizeLinear": ((0, 1, 2),), "MatMulInteger": ((1, -1, 3),), "ConvInteger": ((1, -1, 3),),
    "DynamicQuantizeLSTM": ((1, 8, 9), (2, 10, 11)), "QLinearMatMul": ((3, 4, 5),), "QLinearConv": ((3, 4, 5),),
    "QGemm": ((3, 4, 5),), "QAttention": ((1, 4, 7),), "MatMulNBits": ((1, 2, 3),), "MatMulIntegerToFloat": ((1, 3, 5),
        ),
    "DynamicQuantizeMatMul": ((1, 2, 3),)}
_MOST_COMPARED = 1 << 26
_WORDS = {FLOAT16: "float16", BFLOAT16: "bfloat16"}


class Group(NamedTuple):
    """A quantized tensor with its scale and its zero point."""
    scale: Tensor
    zero: Optional[Tensor]
    groups: Groups
    node: int


@dataclass
class Match:
    base: Base
    transform: str
    make: "Make"                                            # by name of a tensor: its numbers, in its type
    parameters: Tuple[str, ...]
    helpers: Dict[str, str] = field(default_factory=dict)   # tensors that are made with it: what they are
    needs: Tuple[str, ...] = ()                             # tensors that must be written, too
    doubt: str = ""
    levels: "Optional[Callable[[Side], Array]]" = None      # of a quantized tensor: its scales


class Prover:
    def __init__(self, model: ModelFile, library: Library) -> None:
        self.model, self.library, self.old = model, library, library.old
        self.groups: Dict[str, Group] = {}
        self.helpers: Dict[str, str] = {}                   # scales and zero points: the tensor that they belong to
        for tensor in model.tensors:
            self._find_group(tensor)
        for tensor in model.tensors:
            for node, slot in model.readers.get(tensor.name, ()):
                if tensor.kind == INT32 and (model.nodes[node].op, slot) == ("DequantizeLinear", 0):
                    self.helpers.setdefault(model.nodes[node].inputs[1], tensor.name)
        self.helpers = {name: of for name, of in self.helpers.items() if name in model.by_name}
        self.named: Dict[str, str] = {}                     # tensors that have the name of a parameter
        self.matches: Dict[str, Match] = {}
        self.refused: Dict[str, str] = {}
        self.preferred: Dict[str, List[str]] = {}

    # ------------------------------------------------------------ what is quantized
    def carried(self, value: str) -> Optional[Tensor]:
        """The tensor whose numbers arrive in a value."""
        for _ in range(8):
            if value in self.model.by_name:
                return self.model.by_name[value]
            producer = self.model.producers.get(value)
            node = self.model.nodes[producer] if producer is not None else None
            if node is None or node.op not in CARRIERS or not node.inputs:
                return None
            value = node.inputs[0]
        return None

    def final_readers(self, name: str) -> Iterator[Tuple[int, int]]:
        pending, seen = [name], 0
        while pending and seen < 64:
            for node, slot in self.model.readers.get(pending.pop(), ()):
                seen += 1
                if slot == 0 and self.model.nodes[node].op in CARRIERS:
                    pending.extend(self.model.nodes[node].outputs)
                else:
                    yield node, slot

    def _find_group(self, tensor: Tensor) -> None:
        if tensor.kind not in (INT8, UINT8) or tensor.data is None or tensor.count == 0:
            return
        by_name = self.model.by_name
        for at, slot in self.final_readers(tensor.name):
            node = self.model.nodes[at]
            for weight, scale_slot, zero_slot in _SLOTS.get(node.op, ()):
                if slot != weight:
                    continue

                def given(k: int, inputs: List[str] = node.inputs) -> Optional[Tensor]:
                    return by_name.get(inputs[k]) if 0 <= k < len(inputs) else None

                scale, zero = given(scale_slot), given(zero_slot)
                if scale_slot < 0 and tensor.name.endswith("_quantized"):
                    scale = by_name.get(tensor.name[:-len("_quantized")] + "_scale")
                if scale is None or scale.data is None or not scale.is_float or (zero is not None
                    and zero.data is None):
                    continue
                groups = self._groups(tensor, node.op, node.numbers, scale, zero)
                if groups is None:
                    continue
                self.groups[tensor.name] = Group(scale, zero, groups, at)
                for helper in (scale, zero):
                    if helper is not None:
                        self.helpers.setdefault(helper.name, tensor.name)
                return

    @staticmethod
    def _groups(tensor: Tensor, op: str, numbers: Dict[str, int], scale: Tensor, zero: Optional[Tensor]
                ) -> Optional[Groups]:
        shape = tuple(tensor.shape)
        if op == "MatMulNBits":
            found = Groups((numbers.get("N", 0), numbers.get("K", 0)), (), numbers.get("block_size", 0),
                           numbers.get("bits", 4))
            if min(*found.shape, found.block) < 1 or found.bits not in (4, 8):
                return None
            rows, line = found.shape[0], (found.blocks * found.bits + 7) // 8
            blob = found.block * found.bits // 8
            fits = scale.count == rows * found.blocks and tensor.count == scale.count * blob and (
                zero is None or (zero.kind == UINT8 and zero.count == rows * line))
            return found if fits else None
        if numbers.get("block_size", 0):
            return None
        if zero is not None and (zero.kind != tensor.kind or zero.count not in (1, scale.count)):
            return None
        if scale.count == 1:
            return Groups(shape)
        recurrent = op == "DynamicQuantizeLSTM"
        axis = 0 if op in CONVOLUTIONS or recurrent else len(shape) - 1
        if op == "DequantizeLinear":
            axis = numbers.get("axis", 1)
        axis += len(shape) if axis < 0 else 0
        if not 0 <= axis < len(shape):
            return None
        kept: Tuple[int, ...] = (axis,)
        if recurrent and len(shape) == 3 and scale.count != shape[0]:
            kept = (0, 2)
        return Groups(shape, kept) if scale.count == int(np.prod([shape[a] for a in kept])) else None

    # ------------------------------------------------------------ matching
    def run(self) -> None:
        for tensor in self.model.tensors:
            if tensor.data is None or tensor.count == 0 or tensor.name in self.matches:
                continue
            match = None
            if tensor.name in self.groups:
                match = self._match_quantized(tensor, self.groups[tensor.name])
            elif tensor.is_float and tensor.name not in self.helpers:
                match = self._match_floats(tensor)
            elif not tensor.is_float:
                match = self._match_whole(tensor)
            if match is not None:
                self.matches[tensor.name] = match
        for tensor in self.model.tensors:
            self._fold_biases(tensor)
        for tensor in self.model.tensors:
            if tensor.kind == INT32 and tensor.data is not None and tensor.name not in self.matches:
                match = self._match_bias(tensor)
                if match is not None:
                    self.matches[tensor.name] = match

    def _match_whole(self, tensor: Tensor) -> Optional[Match]:
        """Whole numbers that a buffer of this name has."""
        name = next((one for one in (tensor.name, *self.preferred.get(tensor.name, ())) if one in self.old.parameters),
                    "")
        old = self.old.parameters.get(name)
        if old is None or old.is_float or old.numbers.tobytes() != tensor.data.tobytes():   # type: ignore[union-attr]
            return None
        base = Base("same", (name,), lambda side: side.parameters[name].numbers.reshape(-1))
        return Match(base, "same", lambda side: {tensor.name: side.parameters[name].numbers.reshape(-1)}, (name,))

    def _match_floats(self, tensor: Tensor) -> Optional[Match]:
        numbers = tensor.numbers()
        flat = numbers.reshape(-1)
        preferred = self.preferred.get(tensor.name, [])
        for clamp in range(len(CLAMPS) if tensor.kind == FLOAT16 else 1):
            base = self.library.equal(flat, tensor.kind, clamp, tensor.shape, preferred)
            if base is not None:
                return self._cast(tensor, base, clamp)
        if tensor.count <= WEAK:
            return None
        # Gates are sources of their own, so that directions keep their order.
        gated = any(self.model.nodes[node].op in RECURRENT for node, _ in self.model.readers.get(tensor.name, ()))
        rows = None if gated else self.library.rows(numbers, tensor.kind, preferred)
        if rows is not None:
            match = self._cast(tensor, rows, 0)
            if self._proves(match):
                return match
        target = tensor.floats()
        slack = np.abs(target) * np.float32(1e-3 if tensor.kind == FLOAT16 else 8e-3 if tensor.kind == BFLOAT16
                                            else 4e-7)
        for base in [*self._folds(tensor, target, slack + np.float32(1e-7)), *self._scaled(tensor, target)]:
            for clamp in range(len(CLAMPS) if tensor.kind == FLOAT16 else 1):
                match = self._cast(tensor, base, clamp)
                if self._proves(match):
                    return match
        return None

    def _cast(self, tensor: Tensor, base: Base, clamp: int) -> Match:
        word = _WORDS.get(tensor.kind, "")
        own = all(self.old.parameters[name].kind == {10: "F16", 16: "BF16"}.get(tensor.kind)
                  for name in base.parameters)
        return Match(base, base.word if own or not word else f"{base.word}, {word}",
                     lambda side: {tensor.name: cast(base.make(side), tensor.kind, clamp)}, base.parameters)

    def _proves(self, match: Match) -> bool:
        """Whether the old checkpoint gives the present bytes."""
        with np.errstate(all="ignore"):
            made = match.make(self.old)
        for name, numbers in made.items():
            tensor = self.model.by_name[name]
            assert tensor.data is not None
            if numbers.nbytes != tensor.data.size or not np.array_equal(
                    np.ascontiguousarray(numbers).reshape(-1).view(np.uint8), tensor.data):
                return False
        return True

    def _near(self, base: Base, target: "Array", slack: "Array") -> bool:
        view = base.view(self.old)
        at = _samples(target.size)
        made = view[np.unravel_index(at, view.shape)] if view.ndim else view.reshape(-1)[at]
        return _fits(made, target.reshape(-1)[at], slack.reshape(-1)[at])

    def _sources(self, tensor: Tensor, count: int) -> List[Source]:
        """What a changed tensor may come from, likely ones first."""
        preferred = [self.library.by_name[name] for name in self.preferred.get(tensor.name, ())
                     if name in self.library.by_name and self.library.by_name[name].size == count]
        return [*preferred, *self.library.by_count.get(count, ())]

    def _folds(self, tensor: Tensor, target: "Array", slack: "Array") -> Iterator[Base]:
        """A weight with a scale by channel multiplied in: a norm's, or a parameter."""
        at = _samples(target.size)
        asked, near = target.reshape(-1)[at], slack.reshape(-1)[at]
        for source in self._sources(tensor, target.size):
            wide = sum(dim > 1 for dim in source.shape)
            for axis in range(min(2, len(source.shape))):
                channels = source.shape[axis]
                norms = [*(self.library.norms.get(channels, ()) if len(source.shape) > 1 else ()),
                         *self.library.vectors.get(channels, ())]
                if not norms or wide < 1:
                    continue
                for base in self.library.moved(source, target.shape):
                    view = base.view(self.old)
                    index = np.unravel_index(at, view.shape)
                    plain, channel = view[index], index[base.axes.index(axis)]
                    for norm in norms:
                        if norm.variance is None and norm.weight in source.parameters:
                            continue
                        with np.errstate(all="ignore"):
                            fits = _fits(plain * self.library.scale(norm)[channel], asked, near)
                        if fits:
                            yield _folded(base, norm, axis)

    def _scaled(self, tensor: Tensor, target: "Array") -> Iterator[Base]:
        """One product in float32 with a root or a power of a whole number, as attention divides by."""
        if tensor.kind != FLOAT or tensor.name in self.named:
            return
        at = _samples(target.size)
        told = self.preferred.get(tensor.name, ())          # nobody keeps the name of what was multiplied
        for source in self._sources(tensor, target.size):
            if source.parameters[0] not in told:
                base = next(self.library.moved(source, target.shape))
                view = base.view(self.old)
                plain = view[np.unravel_index(at, view.shape)]
                best = int(np.argmax(np.abs(plain)))
                if not plain[best]:
                    continue
                factor = np.float32(target.reshape(-1)[at][best] / plain[best])
                if not _is_constant_factor(float(factor)) or not _fits(
                        plain * factor, target.reshape(-1)[at], np.abs(target.reshape(-1)[at]) * 4e-7 + 1e-9):
                    continue
                for near in (factor, np.nextafter(factor, np.float32(0)), np.nextafter(factor, np.float32(np.inf))):
                    yield base._replace(word=f"times {float(near):.9g}",
                                        view=lambda side, base=base, near=near: base.view(side) * near)   # type: ignore

    # ------------------------------------------------------------ quantized
    def _match_quantized(self, tensor: Tensor, group: Group) -> Optional[Match]:
        target, slack = dequantized(tensor.numbers(), group.scale.floats().reshape(-1),
                                    None if group.zero is None else group.zero.numbers(), group.groups)
        for base in self._near_bases(tensor, target, slack):
            for scheme in SCHEMES:
                blocks = scheme.style != "range"
                if scheme.kind != tensor.kind or blocks != (group.groups.block > 0) or (
                        blocks and scheme.symmetric != (group.zero is None)):
                    continue
                if self._proves(self._quantize(tensor, group, base, scheme)):
                    plain = base if base.norm is not None else self.library.alike(
                        base, self.preferred.get(tensor.name, ()))
                    return self._quantize(tensor, group, plain, scheme)
        return None

    def _near_bases(self, tensor: Tensor, target: "Array", slack: "Array") -> Iterator[Base]:
        for source in self._sources(tensor, target.size):
            for base in self.library.moved(source, target.shape):
                if self._near(base, target, slack):
                    yield base
        yield from self._folds(tensor, target, slack)
        yield from self._near_pieces(target, slack)
        yield from self._near_rows(target, slack)

    def _near_rows(self, target: "Array", slack: "Array") -> Iterator[Base]:
        """Rows of a small table that a tensor [..., heads, places] looks up, each for one place only."""
        for axis in range(target.ndim - 2):
            moved, near = np.moveaxis(target, axis, -1), np.moveaxis(slack, axis, -1)
            places, bounds = moved.reshape(-1, moved.shape[-1]), near.reshape(-1, moved.shape[-1])
            for name, shape in self.library.shapes.items():
                if len(shape) != 2 or shape[1] != places.shape[1] or shape[1] < 2 or \
                        shape[0] * places.size > _MOST_COMPARED:
                    continue
                table = self.old.floats(name)
                fits = (np.abs(places[:, None] - table[None]) <= bounds[:, None]).all(2)
                picks = fits.argmax(1)
                if not fits.any(1).all() or not is_regular(picks.tolist(), moved.shape[-2]):
                    continue

                def view(side: Side, name: str = name, picks: "Array" = picks, shape: Tuple[int, ...] = moved.shape,
                         axis: int = axis) -> "Array":
                    return np.moveaxis(side.floats(name)[picks].reshape(shape), -1, axis)

                yield Base("looked up", (name,), view, runs=((name, 0, 0),),
                           others=frozenset((name,) if (fits.sum(1) > 1).any() else ()))

    def _near_pieces(self, target: "Array", slack: "Array") -> Iterator[Base]:
        """Some rows of a parameter, or one row again and again; also turned."""
        for turned in (False, True):
            numbers, near = (target.T, slack.T) if turned else (target, slack)
            if numbers.ndim < (2 if turned else 1):
                continue
            line = numbers.reshape(-1, numbers.shape[-1]) if numbers.ndim > 1 else numbers.reshape(-1, 1)
            for name, shape in self.library.shapes.items():
                width = line.shape[1]
                if (len(shape) > 1 and shape[-1] != width) or (len(shape) == 1 and width != 1) or not shape or \
                        int(np.prod(shape)) <= WEAK:
                    continue
                rows = self.old.floats(name).reshape(-1, width)
                many = 1 if len(rows) < len(line) else len(line)
                if len(rows) == len(line):
                    continue
                first = np.flatnonzero(np.abs(rows[:len(rows) - many + 1, 0] - line[0, 0]) <= near.reshape(-1)[0])
                for at in first[:256]:
                    picked = np.broadcast_to(rows[at:at + many], line.shape)
                    if _fits(picked, line, near.reshape(line.shape)):

                        def view(side: Side, name: str = name, at: int = int(at), many: int = many,
                                 shape: Tuple[int, ...] = line.shape, turned: bool = turned) -> "Array":
                            found = np.broadcast_to(side.floats(name).reshape(-1, shape[1])[at:at + many], shape)
                            return found.T if turned else found

                        yield Base("piece", (name,), view, turned=turned, runs=((name, int(at), many),))

    def _quantize(self, tensor: Tensor, group: Group, base: Base, scheme: Scheme) -> Match:
        def make(side: Side) -> "Dict[str, Array]":
            made = quantize(scheme, base.make(side), group.groups, group.scale.kind)
            found = {tensor.name: made.numbers, group.scale.name: made.scale}
            if group.zero is not None:
                found[group.zero.name] = made.zero[:group.zero.count]
            return found

        helpers = {group.scale.name: "scale", **({group.zero.name: "zero point"} if group.zero is not None else {})}
        return Match(base, f"{base.word}, {scheme.name}", make, base.parameters, helpers,
                     levels=lambda side: make(side)[group.scale.name].astype(np.float32))

    # ------------------------------------------------------------ biases
    def biases_of(self, tensor: Tensor) -> List[Tensor]:
        """Of convolutions and Gemms that read it as their weight."""
        found = []
        for node, slot in self.model.readers.get(tensor.name, ()):
            inputs = self.model.nodes[node].inputs
            if slot == 1 and self.model.nodes[node].op in (*CONVOLUTIONS, "Gemm") and len(inputs) > 2:
                bias = self.model.by_name.get(inputs[2])
                if bias is not None:
                    found.append(bias)
        return found

    def _fold_biases(self, tensor: Tensor) -> None:
        """A folded bias may look like another parameter while the norm is new: the weight beside it decides."""
        match = self.matches.get(tensor.name)
        if match is None or match.doubt:
            for bias in self.biases_of(tensor):
                if any(self.model.nodes[node].op in CONVOLUTIONS and slot == 1
                       for node, slot in self.model.readers.get(tensor.name, ())):
                    self.refused[bias.name] = f"nothing proves {tensor.name}, the weight beside it"
                    self.matches.pop(bias.name, None)
            return
        norm = match.base.norm
        if norm is None or norm.variance is None:
            return
        size = self.library.scale(norm).size
        biases = {bias.name: bias for bias in self.biases_of(tensor) if bias.count == size and bias.is_float}
        read = bool(biases)
        if not read:                                        # a quantizer adds it in a node of its own
            for other in self.model.tensors:
                if other.count == size and other.kind == FLOAT and other.data is not None and \
                        other.name not in self.helpers and other.name not in self.matches:
                    target = other.floats()
                    if self._near(folded_bias(match.base, self.library, False), target, np.abs(target) * 1e-5 + 1e-6):
                        biases[other.name] = other
        for name, bias in biases.items():
            self.matches.pop(name, None)
            for fused in (False, True):
                found = self._cast(bias, folded_bias(match.base, self.library, fused), 0)
                if bias.data is not None and self._proves(found):
                    self.matches[name] = found
                    break
            if name not in self.matches or len(self.model.readers.get(name, ())) > 1 or (not read and len(biases) > 1):
                self.matches.pop(name, None)
                self.refused[name] = "a norm is folded into it in a way that is not known"

    def is_bias(self, tensor: Tensor) -> bool:
        """Of whole numbers, with the scales of an input and of a weight."""
        return tensor.kind == INT32 and any(
            (self.model.nodes[node].op, slot) in (("DequantizeLinear", 0), ("QLinearConv", 8), ("QGemm", 6))
            for node, slot in self.model.readers.get(tensor.name, ()))

    def _match_bias(self, tensor: Tensor) -> Optional[Match]:
        """Whole numbers with the scale of the input times that of the weight."""
        for at, slot in self.model.readers.get(tensor.name, ()):
            node = self.model.nodes[at]
            own = self.model.by_name.get(node.inputs[1]) if node.op == "DequantizeLinear" and slot == 0 else None
            if node.op == "DequantizeLinear":
                readers = self.model.readers.get(node.outputs[0], ())
                if own is None or own.kind != FLOAT or own.data is None or not readers:
                    continue
                node = self.model.nodes[readers[0][0]]
            weight, data_scale = self._beside(node.op, node.inputs)
            if weight is None or data_scale is None or weight.name not in self.matches:
                continue
            of_weight = self.matches[weight.name]
            # an input that a quantized table gives has the table's scale
            table = self.helpers.get(data_scale.name)
            of_table = self.matches.get(table or "")
            if (table is not None and of_table is None) or of_weight.levels is None:
                continue
            fixed = data_scale.floats().reshape(-1)[0]

            def levels(side: Side, of_weight: Match = of_weight, of_table: Optional[Match] = of_table,
                       fixed: "Array" = fixed) -> "Array":
                assert of_weight.levels is not None
                data = fixed if of_table is None or of_table.levels is None else of_table.levels(side).reshape(-1)[0]
                made: "Array" = (of_weight.levels(side) * np.float32(data)).astype(np.float32)
                return made

            scales = levels(self.old)
            if scales.size not in (1, tensor.count):
                continue
            target = (tensor.numbers().reshape(-1) * scales.astype(np.float64)).astype(np.float32)
            slack = np.broadcast_to(scales * np.float32(0.51), target.shape) + np.abs(target) * np.float32(1e-6)
            norm = of_weight.base.norm
            bases = [folded_bias(of_weight.base, self.library, fused) for fused in (False, True)] \
                if norm is not None and norm.variance is not None else self._near_bases(tensor, target, slack)
            for base in bases:
                if base.norm is None:
                    base = self.library.alike(base, self.preferred.get(tensor.name, ()))

                def make(side: Side, base: Base = base, own: Optional[Tensor] = own,
                         levels: "Callable[[Side], Array]" = levels) -> "Dict[str, Array]":
                    by = levels(side)
                    whole = np.rint(base.make(side).astype(np.float64) / by.astype(np.float64))
                    made = {tensor.name: np.clip(whole, -2**31, 2**31 - 1).astype(np.int32)}
                    if own is not None:
                        made[own.name] = by
                    return made

                match = Match(base, f"{base.word}, int32 bias", make, base.parameters, {own.name: "scale"} if own
                              else {},
                              tuple(name for name in (weight.name, table) if name))
                if self._proves(match):
                    return match
        return None

    def _beside(self, op: str, inputs: List[str]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
        """The quantized weight of the node that adds a bias, and the scale of its input."""
        by_name = self.model.by_name
        if op == "QLinearConv" and len(inputs) > 3:
            return by_name.get(inputs[3]), by_name.get(inputs[1])
        sides = [self.model.nodes[self.model.producers[value]] if value in self.model.producers else None
                 for value in inputs[:2]]
        if len(sides) < 2 or any(side is None or side.op != "DequantizeLinear" for side in sides):
            return None, None
        weight, scale = by_name.get(sides[1].inputs[0]), by_name.get(sides[0].inputs[1])    # type: ignore[union-attr]
        fits = scale is not None and scale.count == 1 and scale.kind == FLOAT and scale.data is not None
        return (weight, scale) if weight is not None and fits and weight.name in self.groups else (None, None)


def _folded(base: Base, norm: Norm, axis: int) -> Base:
    source = base.source
    assert source is not None
    dims = [size if k == axis else 1 for k, size in enumerate(source.shape)]
    return base._replace(
        word="folded", norm=norm,
        view=lambda side: (source.make(side) * norm.scale(side).reshape(dims)).transpose(base.axes),
        parameters=tuple(name for name in dict.fromkeys((*base.parameters, norm.weight, norm.variance)) if name))


def folded_bias(weight: Base, library: Library, fused: bool) -> Base:
    norm = weight.norm
    assert norm is not None
    own: Optional[str] = module_of(weight.parameters[0]) + "bias"
    if own not in library.shapes or int(np.prod(library.shapes[own])) != library.scale(norm).size:
        own = None

    def view(side: Side) -> "Array":
        scale = norm.scale(side)
        bias = side.floats(own).reshape(-1) if own else np.zeros_like(scale)
        moved = bias - side.floats(norm.mean) if norm.mean else bias
        shift = side.floats(norm.bias) if norm.bias else np.zeros_like(scale)
        if fused:
            return (moved.astype(np.float64) * scale + shift).astype(np.float32)
        return moved * scale + shift

    return Base("folded", tuple(name for name in (own, *norm.parameters) if name), view, norm=norm)


def _samples(count: int) -> "Array":
    return np.unique(np.arange(24, dtype=np.int64) * 2654435761 % count)


def _fits(made: "Array", asked: "Array", slack: "Array") -> bool:
    with np.errstate(all="ignore"):
        return bool(np.all((np.abs(made - asked) <= slack) | (made == asked)))


def _is_constant_factor(factor: float) -> bool:
    """Others may be a parameter themselves."""
    if not factor > 0 or factor == 1 or not np.isfinite(factor):
        return False
    square = factor * factor
    powers = (square, 1 / square if square else np.inf, square * square, 1 / (square * square) if square * square
              else np.inf)
    return any(1 <= power <= 1e6 and abs(power / round(power) - 1) <= 1e-6 for power in powers)


__all__ = ["CARRIERS", "CONVOLUTIONS", "RECURRENT", "FLOATS", "Group", "Match", "Prover", "folded_bias"]
