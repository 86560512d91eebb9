"""Why bytes that agree are not believed: numbers may be equal by chance, and names of the old checkpoint may be
swapped."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, Iterator, List, Optional, Set, Tuple

import numpy as np

from .bases import WEAK, Side, Unusable, digest, module_of
from .proofs import RECURRENT, Match, Prover

if TYPE_CHECKING:
    from .plan import Hints

_NUMBER = re.compile(r"\d+")
_PRODUCTS = ("MatMul", "MatMulInteger", "Gemm", "FusedMatMul", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
             "QLinearMatMul")


def layers_in(name: str) -> Iterator[Tuple[str, int, str]]:
    """"a.", 12, "#.b.weight" of "a.12.b.weight"; "a.", 1, "weight_l#_reverse" of "a.weight_l1_reverse"."""
    for found in _NUMBER.finditer(name):
        begin, end = found.span()
        atom, rest = name.rfind(".", 0, begin) + 1, name[end:]
        if (begin == atom and rest.startswith(".")) or "." not in rest:
            yield name[:atom], int(found.group()[:9]), f"{name[atom:begin]}#{rest}"


class Doubts:
    def __init__(self, prover: Prover, hints: "Hints", now: Side) -> None:
        self.prover, self.hints, self.now = prover, hints, now
        self.model, self.matches, self.library = prover.model, prover.matches, prover.library
        self.swapped: Dict[int, Tuple[str, str]] = {}       # by count: a parameter that is read in another's place
        self.turned: Set[str] = set()
        self.confirmed: Set[str] = set()                    # by an equal layer, or by the bias beside
        self._now: Dict[str, bytes] = {}
        # by what is alike in OLD: a name for each of the new numbers
        self._kinds: Dict[int, Dict[bytes, str]] = {}

    def run(self) -> None:
        self._compare_layers()
        for name, match in self.matches.items():
            match.doubt = match.doubt or self._contradiction(name, match)
        for name, match in self.matches.items():
            match.doubt = match.doubt or self._irregularity(name, match) or self._weakness(name, match)
        self._find_untold()

    def _digest_now(self, name: str) -> bytes:
        if name not in self._now:
            try:
                self._now[name] = digest(self.now.floats(name))
            except Unusable:
                self._now[name] = name.encode()
        return self._now[name]

    def same_now(self, one: str, other: str) -> bool:
        return self._digest_now(one) == self._digest_now(other)

    def _other_now(self, match: Match) -> Optional[str]:
        """A parameter with the same old numbers and other new ones."""
        names = match.base.others
        if id(names) not in self._kinds:
            kinds: Dict[bytes, str] = {}
            for name in sorted(names):
                kinds.setdefault(self._digest_now(name), name)
            self._kinds[id(names)] = kinds
        own = self._digest_now(match.parameters[0]) if names else b""
        return next((name for kind, name in self._kinds[id(names)].items() if kind != own), None)

    def _mistrust(self, one: str, other: str) -> None:
        for name in (one, other):
            self.swapped.setdefault(self._count(name), (one, other))

    def _count(self, name: str) -> int:
        return int(np.prod(self.library.shapes.get(name, (0,)), dtype=np.int64))

    def _find_untold(self) -> None:
        """Parameters of one shape that nothing but their names in OLD tells apart; these may be swapped."""
        untold: Dict[Tuple[int, ...], List[Tuple[str, Match]]] = {}
        for name, match in self.matches.items():
            one = match.parameters[0]
            if len(match.parameters) == 1 and match.base.source is not None and one not in self.confirmed and \
                    not match.doubt and not match.base.others and not self.hints.tells(name, one):
                untold.setdefault(self.library.shapes.get(one, ()), []).append((name, match))
        placed = {one for match in self.matches.values() if not match.doubt for one in match.parameters
                  if not self.now.why_unusable(one)}
        for shape, pairs in untold.items():
            # Those that reached no tensor may belong in their place, too.
            names = {match.parameters[0] for _, match in pairs} | {
                name for side in (self.prover.old, self.now) for name, one in side.parameters.items()
                if tuple(one.numbers.shape) == shape and name not in placed and one.is_float}
            for _, match in pairs if len(names) > 1 else ():
                other = min(names - set(match.parameters))
                match.doubt = f"nothing but OLD's names tells {match.parameters[0]} from {other}"

    # ------------------------------------------------------------ numbers that prove little
    def _weakness(self, name: str, match: Match) -> str:
        tensor = self.model.by_name[name]
        if match.base.norm is not None or match.base.word.startswith("times") or not (
                tensor.is_float or tensor.name in self.prover.groups or tensor.kind == 6):
            return ""
        other = min(match.base.others, default=None) if match.base.runs else self._other_now(match)
        told = self.hints.tells(name, match.parameters[0])
        if other is not None:
            if told and len(self.model.readers.get(name, ())) == 1 and self.hints.change(name) != "tied":
                return ""
            if match.base.runs:
                return f"several rows of {other} give a number"
            return (f"{match.parameters[0]} and {other} have these numbers in the old checkpoint, and others in the "
                    "new one")
        weak = tensor.count <= WEAK or (tensor.kind != 6 and self._uniform(match))
        if weak and not told:
            return f"its numbers prove too little: those of {match.parameters[0]} fit"
        return ""

    def _uniform(self, match: Match) -> bool:
        numbers = match.base.make(self.prover.old)[:4096]
        return bool(np.all(numbers == numbers[:1]))

    # ------------------------------------------------------------ the name or a reader says another parameter
    def _contradiction(self, name: str, match: Match) -> str:
        base, tensor = match.base, self.model.by_name[name]
        first = match.parameters[0]
        hint, named = self.hints.of(name), self.prover.named.get(name)
        group = self.prover.groups.get(name)
        blocks = group is not None and group.groups.block > 0
        shape = group.groups.shape if group is not None else tuple(tensor.shape)
        square = len(shape) == 2 and shape[0] == shape[1]
        is_matrix = named is None and any(
            slot == 1 and self.model.nodes[node].op in _PRODUCTS and not self.model.nodes[node].numbers.get("transB", 0)
            for node, slot in self._products(name))
        is_matrix |= hint.get("change") == "transposed" or (blocks and named is None)
        if is_matrix and base.source is not None and \
                base.source.word == "same" and base.norm is None and square and base.turned == blocks:
            return f"{first} seems to be transposed in the old checkpoint"
        expected = [named] if named else self.hints.held(name) if self.hints.is_sure(name) else []
        held = [one for one in match.parameters if base.norm is None or one not in base.norm.parameters]
        own = int(np.prod(shape))
        total = sum(self._count(one) for one in expected)
        gated = any(self.model.nodes[node].op in RECURRENT for node, _ in self.model.readers.get(name, ()))
        firsts = [run[1] for run in base.runs]
        if len(held) == 1 and len(firsts) <= 16 and firsts != sorted(firsts) and not gated:
            return f"it has the rows of {first} in another order"
        if not expected or (total != own and not base.runs and sum(self._count(one) for one in held) != own):
            return ""
        if base.runs and not gated:
            if set(held) == set(expected) and len(held) > 1 and hint.get("change") in ("merged", "quantized") and \
                    not base.others and held != expected:
                return f"it has {first} in another order"
            if set(held) == set(expected) and len(held) == 1 and sum(run[2] for run in base.runs) == \
                    self.library.shapes[first][0] and firsts != sorted(firsts):
                return f"it has the rows of {first} in another order"
        if total != own or sum(self._count(one) for one in held) != own:
            return ""                                       # only whole parameters change places
        for one in expected:
            if one in match.parameters or one in base.others:
                continue
            if len(expected) == 1 and len(held) == 1 and not self.now.why_unusable(one) and self.same_now(first, one):
                continue
            self._mistrust(first, one)
            return f"it has the numbers of {first} in the place of {one}"
        return ""

    def _products(self, name: str) -> Iterator[Tuple[int, int]]:
        """The readers, behind what makes floats of a quantized weight."""
        for node, slot in self.model.readers.get(name, ()):
            if self.model.nodes[node].op == "DequantizeLinear" and slot == 0:
                yield from self.model.readers.get(self.model.nodes[node].outputs[0], ())
            else:
                yield node, slot

    # ------------------------------------------------------------ equal layers read their parameters in one order
    def _bias_beside(self, name: str) -> Optional[str]:
        """The bias of the module whose product this tensor is added to."""
        for node, slot in self._products(name):
            about = self.model.nodes[node]
            if about.op != "Add" or len(about.inputs) != 2:
                continue
            other = about.inputs[1 - slot] if slot < 2 else ""
            for _ in range(3):
                at = self.model.producers.get(other)
                if at is None or not self.model.nodes[at].inputs:
                    break
                product = self.model.nodes[at]
                if product.op in _PRODUCTS or product.op == "MatMulNBits":
                    weight = self.prover.carried(product.inputs[1]) if len(product.inputs) > 1 else None
                    side = None
                    if weight is None and len(product.inputs) > 1:
                        side = self.model.producers.get(product.inputs[1])
                    if side is not None and self.model.nodes[side].op == "DequantizeLinear":
                        weight = self.prover.carried(self.model.nodes[side].inputs[0])
                    match = self.matches.get(weight.name) if weight is not None else None
                    if match is not None and len(match.parameters) == 1:
                        bias = module_of(match.parameters[0]) + "bias"
                        return bias if bias in self.library.shapes else None
                    break
                if product.op not in ("Mul", "Cast", "Identity", "QuantizeLinear", "DequantizeLinear"):
                    break
                other = product.inputs[0]
        return None

    def _compare_layers(self) -> None:
        stacks: Dict[str, Dict[int, Dict[str, Tuple[Tuple[int, int, int], str, str]]]] = {}
        for name, match in self.matches.items():
            if match.base.others:                           # any name of those that are alike may have been taken
                continue
            bias = self._bias_beside(name)
            if bias is not None and match.parameters == (bias,) and self.hints.tells(name, bias):
                self.confirmed.add(module_of(bias) + "weight")
            if bias is not None and len(match.parameters) == 1 and bias != match.parameters[0] and \
                    not self.hints.tells_surely(name, match.parameters[0]) and \
                    self._count(bias) == self.model.by_name[name].count:
                self._mistrust(match.parameters[0], bias)
            readers = self.model.readers.get(name)
            if not readers:
                continue
            for k, one in enumerate(match.parameters):
                if self._count(one) <= WEAK:
                    continue
                place = (*min(readers), k), name, one
                for stack, number, rest in layers_in(one):
                    layer = stacks.setdefault(stack, {}).setdefault(number, {})
                    layer[rest] = min(layer.get(rest, place), place)
        for layers in stacks.values():
            numbers = sorted(layers)
            for a, b in zip(numbers, numbers[1:]):
                self._compare(layers[a], layers[b])

    def _compare(self, a: "Dict[str, Tuple[Tuple[int, int, int], str, str]]",
                 b: "Dict[str, Tuple[Tuple[int, int, int], str, str]]") -> None:
        common = a.keys() & b.keys()
        for rest in common:
            (place, tensor, one), (twin, other, second) = a[rest], b[rest]
            nodes = self.model.nodes
            if self.matches[tensor].base.turned != self.matches[other].base.turned and \
                    nodes[place[0]].op == nodes[twin[0]].op and place[1] == twin[1] and \
                    nodes[place[0]].numbers.get("transB") == nodes[twin[0]].numbers.get("transB"):
                self.turned.update((one, second))
        orders = sorted(common, key=lambda rest: a[rest][0]), sorted(common, key=lambda rest: b[rest][0])
        for rest, other in zip(*orders):
            if rest == other:
                self.confirmed.update((a[rest][2], b[rest][2]))
                continue
            (_, tensor, one), (_, second_tensor, second) = a[rest], b[other]
            if not (self.hints.tells_surely(tensor, one) and self.hints.tells_surely(second_tensor, second)):
                self._mistrust(one, second)

    def _irregularity(self, name: str, match: Match) -> str:
        for one in match.parameters:
            if one in self.turned:
                return f"{one} is turned, but not in an equal layer"
            pair = self.swapped.get(self._count(one))
            if pair is not None and not self.hints.tells_surely(name, one):
                return ("names of parameters of this size seem to be swapped in the old checkpoint: "
                        f"{pair[0]} is read in the place of {pair[1]}")
        return ""
