"""What becomes of each tensor: written, kept or refused; and of each parameter that differs in the new checkpoint.

A tensor is written if the old checkpoint, put through a known transform, gives the bytes that it has. One that may
depend on
a parameter that differs, and is not proved, is refused: old numbers beside new ones make a model that is silently
wrong.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import numpy as np

from ..globs import matcher
from .bases import WEAK, Library, LowRank, Side, Source, Unusable, module_of, whole
from .checkpoints import Checkpoint, Parameter
from .doubts import Doubts
from .model import FLOAT, FLOATS, ModelFile, Tensor
from .proofs import CARRIERS, CONVOLUTIONS, Match, Prover
from .schemes import dequantized

if TYPE_CHECKING:
    from ..arrays import Array

_SURE = ("certain", "high", "medium")
_HOLDS = ("same", "transposed", "merged", "folded", "quantized", "tied", "split")
_SMALL = 16


@dataclass
class Row:
    tensor: str
    fate: str = "kept"                                      # written, kept, refused
    transform: Optional[str] = None
    parameters: List[str] = field(default_factory=list)
    module: Optional[str] = None
    bytes: int = 0
    proof: Optional[str] = None
    why: Optional[str] = None


@dataclass
class Plan:
    model: ModelFile
    rows: List[Row]
    matches: Dict[str, Match]                               # by tensor: what is written with it
    now: Side
    unused: List[str]                                       # parameters that differ, and no tensor holds
    lost: Dict[str, str]                                    # those of them that are refused: why
    stale: List[str]                                        # scales of activations, which come from data

    def refused(self) -> List[Row]:
        return [row for row in self.rows if row.fate == "refused"]


class Hints:
    """What the program says about each initializer: `weights --json`."""

    def __init__(self, weights: Iterable[Dict[str, Any]], model: ModelFile, names: Iterable[str]) -> None:
        self._by_tensor = {row["initializer"]: row for row in weights}
        self._names = set(names)
        self._prefix = self._find_prefix()
        for tensor in model.tensors:
            tensor.hint = self._by_tensor.get(tensor.name, {}) if tensor.initializer else {}
            tensor.module = tensor.hint.get("module")
        self.named: Dict[str, str] = {}
        for tensor in model.tensors:
            name = self.named_parameter(tensor.name)
            if name is not None:
                self.named[tensor.name] = name

    def _find_prefix(self) -> Tuple[str, str]:
        """A wrapper gives the names of its modules one prefix: in the graph, or in the checkpoint."""
        ends: Dict[str, List[str]] = {}
        for name in self._names:
            at = name.find(".") + 1
            if at:
                ends.setdefault(name[at:], []).append(name)
        votes: Dict[Tuple[str, str], int] = {}
        for row in self._by_tensor.values():
            for name in row["parameters"]:
                at = 0
                while name[at:] not in self._names and "." in name[at:]:
                    at = name.index(".", at) + 1
                if name[at:] in self._names:
                    votes[name[:at], ""] = votes.get((name[:at], ""), 0) + 1
                elif len(ends.get(name, ())) == 1:
                    pair = "", ends[name][0][:-len(name)]
                    votes[pair] = votes.get(pair, 0) + 1
        return max(votes, key=lambda pair: votes[pair]) if votes else ("", "")

    def find(self, name: str) -> Optional[str]:
        """The parameter of the checkpoint that the graph calls so."""
        if name in self._names:
            return name
        cut, put = self._prefix
        other = put + name[len(cut):] if name.startswith(cut) else name
        return other if other in self._names else None

    def named_parameter(self, tensor: str) -> Optional[str]:
        if tensor.endswith(("_scale", "_scales", "_zero_point", "_zero_points")):
            return None
        for end in ("_quantized", "_Q4", "_Q8"):
            at = tensor.rfind(end)
            if at > 0:
                tensor = tensor[:at]
        return self.find(tensor)

    def of(self, tensor: str) -> Dict[str, Any]:
        return self._by_tensor.get(tensor, {})

    def held(self, tensor: str) -> List[str]:
        found = (self.find(name) for name in self.of(tensor).get("parameters", ()))
        return [name for name in found if name is not None]

    def change(self, tensor: str) -> str:
        return str(self.of(tensor).get("change", ""))

    def is_sure(self, tensor: str) -> bool:
        parameters = self.of(tensor).get("parameters", ())
        return self.of(tensor).get("confidence") in _SURE and len(self.held(tensor)) == len(parameters) > 0

    def tells(self, tensor: str, parameter: str) -> bool:
        return self.named.get(tensor) == parameter or parameter in self.held(tensor)

    def tells_surely(self, tensor: str, parameter: str) -> bool:
        return self.named.get(tensor) == parameter or (
            self.of(tensor).get("confidence") in _SURE and parameter in self.held(tensor))


def make_plan(model: ModelFile, weights: Sequence[Dict[str, Any]], was: Optional[Checkpoint], now: Checkpoint,
              added: Optional[Dict[str, LowRank]] = None, keep: Sequence[str] = ()) -> Plan:
    return (_Planner if was is not None else _Unproven)(model, weights, was or now, now, added or {}, keep).run()


class _Planner:
    proof = "the old checkpoint gives its bytes"

    def __init__(self, model: ModelFile, weights: Sequence[Dict[str, Any]], was: Checkpoint, now: Checkpoint,
                 added: Dict[str, LowRank], keep: Sequence[str]) -> None:
        self.model, self.was, self.new = model, was.parameters, now.parameters
        self.old = Side(self.was)
        self.now = Side(self.new, self.was, added)
        self.added = added
        self.keeps = matcher(keep)
        self.differs = {name for name in self.was if self._differs(name)}
        self.gained = {name for name in self.new if name not in self.was}
        self.hints = Hints(weights, model, self.was)
        self.prover = Prover(model, Library(self.old))
        self.prover.named = self.hints.named
        self.prover.preferred = {tensor.name: list(dict.fromkeys(
            [*([self.hints.named[tensor.name]] if tensor.name in self.hints.named else []),
             *self.hints.held(tensor.name)]))
            for tensor in model.tensors}
        self.rows = {tensor.name: Row(tensor.name, module=tensor.module,
                                      bytes=0 if tensor.data is None else int(tensor.data.size))
                                      for tensor in model.tensors}

    def _differs(self, name: str) -> bool:
        old, new = self.was[name], self.new.get(name)
        return new is None or name in self.added or new.kind != old.kind or new.numbers.shape != old.numbers.shape or \
            not np.array_equal(_raw(old), _raw(new))

    def run(self) -> Plan:
        self._match()
        self._take()
        stale = self._settle()
        unused, lost = self._unused()
        self._refuse_shared()
        rows = [self.rows[tensor.name] for tensor in self.model.tensors]
        written = {row.tensor for row in rows if row.fate == "written"}
        matches = {name: match for name, match in self.prover.matches.items() if name in written}
        return Plan(self.model, rows, matches, self.now, unused, lost, stale)

    def _match(self) -> None:
        self.prover.run()
        Doubts(self.prover, self.hints, self.now).run()

    def _take(self) -> None:
        """Gives tensors, and their scales, what their proofs make."""
        made: "Dict[str, Tuple[str, Array]]" = {}
        for name, match in self.prover.matches.items():
            why = match.doubt or self.prover.refused.get(name, "") or next(
                filter(None, (self.now.why_unusable(one) for one in match.parameters)), "")
            helped = {}
            try:
                if not why and match.helpers:
                    with np.errstate(all="ignore"):
                        helped = {key: value for key, value in match.make(self.now).items() if key != name}
                if not why and not self._is_finite(match, helped):
                    why = "its new numbers are not finite"
            except Unusable as error:                       # of the weight beside a bias
                why = str(error)
            for key, word in [(name, match.transform), *match.helpers.items()]:
                row = self.rows[key]
                clash = key in made and (key not in helped or not np.array_equal(made[key][1], helped[key]))
                row.transform, row.parameters = word, list(match.parameters)
                row.why = "tensors that differ in the new checkpoint share it" if clash else why or row.why
                row.fate = "refused" if row.why else "written"
                if key in helped:
                    made[key] = name, helped[key]
        for _ in range(3):                                  # a scale stays with what it scales, a bias with its weight
            for name, match in self.prover.matches.items():
                for one in match.needs:
                    if self.rows[one].fate != "written" and self.rows[name].fate == "written":
                        self.rows[name].fate, self.rows[name].why = "refused", f"{one} is not written"
                parts = [self.rows[key] for key in (name, *match.helpers)]
                if any(row.fate == "refused" for row in parts):
                    said = next(row.why for row in parts if row.fate == "refused")
                    for row in parts:
                        row.fate, row.why = "refused", row.why or said

    def _is_finite(self, match: Match, helped: "Dict[str, Array]") -> bool:
        """Of scales: a variance below 0 has no root."""
        with np.errstate(all="ignore"):
            scales = [*helped.values(), *([match.base.norm.scale(self.now)] if match.base.norm is not None else [])]
        return all(np.isfinite(one.astype(np.float32)).all() for one in scales)

    # ------------------------------------------------------------ tensors without a proof
    def _settle(self) -> List[str]:
        stale = []
        unplaced = self._unplaced()
        for tensor in self.model.tensors:
            row = self.rows[tensor.name]
            if tensor.name in self.prover.refused and row.fate != "refused":
                row.fate, row.why = "refused", self.prover.refused[tensor.name]
            if row.fate == "refused" and tensor.count <= WEAK and not self.hints.held(tensor.name) and \
                    tensor.name not in self.hints.named and tensor.name not in self.prover.refused:
                row.fate, row.transform, row.parameters, row.why = "kept", None, [], "a constant"   # equal by chance
            if row.fate == "kept" and row.why is None and tensor.name not in self.prover.matches:
                of = self.prover.helpers.get(tensor.name)
                if of is not None:
                    continue
                if self._is_data_scale(tensor):
                    stale.append(tensor.name)
                    row.why = "a scale of an activation: it comes from data"
                    continue
                row.why = self._why_kept(tensor)
                if row.why is None:
                    row.fate, row.why = self._judge(tensor, unplaced)
            if row.fate == "refused" and self.keeps(tensor.name):
                row.fate, row.transform, row.parameters, row.why = "kept", None, [], "--keep"
        for helper, of in self.prover.helpers.items():
            row, own = self.rows[helper], self.rows[of]
            alone = own.fate != row.fate and of not in self.prover.matches
            if alone or (own.fate != "written" and row.fate != "written"):
                row.fate, row.why = own.fate, f"{of} is {own.fate}"
        for row in self.rows.values():
            if row.fate == "written":
                row.proof, row.why = self.proof, None
            elif row.fate == "kept":
                row.transform, row.parameters = None, []
        return stale

    def _unplaced(self) -> List[str]:
        placed: Set[str] = set()
        for row in self.rows.values():
            placed.update(row.parameters)
        return sorted(name for name in (self.differs | self.gained) - placed if self._is_of_floats(name))

    def _is_of_floats(self, name: str) -> bool:
        return self.was[name].is_float if name in self.was else self.new[name].is_float

    def _is_data_scale(self, tensor: Tensor) -> bool:
        for node, slot in self.model.readers.get(tensor.name, ()):
            op = self.model.nodes[node].op
            if (op in ("QuantizeLinear", "DequantizeLinear") and slot in (1, 2)) or (
                    op.startswith(("QLinear", "QGemm")) and slot in (1, 2)):
                value = self.model.nodes[node].inputs[0]
                return self.prover.carried(value) is None
        return False

    def _why_kept(self, tensor: Tensor) -> Optional[str]:
        """Tensors that no checkpoint changes."""
        if tensor.count == 0:
            return "it is empty"
        if tensor.data is None:
            return None
        if tensor.name in self.prover.groups:
            group = self.prover.groups[tensor.name]
            numbers, slack = dequantized(tensor.numbers(), group.scale.floats().reshape(-1),
                                         None if group.zero is None else group.zero.numbers(), group.groups)
            return table_kind(numbers, float(slack.max()))
        if not tensor.is_float:
            held = tensor.name in self.hints.named or set(self.hints.held(tensor.name)) & self.differs
            change = self.hints.change(tensor.name)
            return None if change == "quantized" or (held and change != "zero_point") or (
                self.prover.is_bias(tensor) and tensor.data.any()) else "whole numbers"
        numbers = tensor.floats()
        kind = table_kind(numbers, 0.0 if tensor.kind == FLOAT else 2e-3)
        told = tensor.name in self.hints.named or self.hints.held(tensor.name)
        if kind is not None and not (told and kind == "one number"):
            return kind
        return None

    def _judge(self, tensor: Tensor, unplaced: Sequence[str]) -> Tuple[str, str]:
        """A tensor that nothing proves: refused if it may depend on a parameter that differs."""
        if tensor.data is None:
            return "refused", "its numbers cannot be read, or another tensor has its name"
        if tensor.name in self.hints.named or tensor.name in self.gained or self.prover.is_bias(tensor):
            return "refused", "no known transform of OLD gives its bytes"
        told, held = self.hints.of(tensor.name).get("parameters", ()), self.hints.held(tensor.name)
        if self.hints.change(tensor.name) in _HOLDS and told:
            module, atom = module_of(told[0]), told[0][told[0].rfind(".") + 1:]
            # As a norm of weights has it: a.weight_g, a.parametrizations.weight.original0
            known = [one for one in held or [*self.was, *self.gained] if one in self.differs | self.gained and (
                held or (one.startswith(module) and atom in one[len(module):]))]
            if known:
                return "refused", f"no known transform of OLD gives its bytes; it seems to hold {known[0]}"
        candidate = self._candidate(tensor)
        if candidate:
            return "refused", f"no known transform of OLD gives its bytes, though its numbers follow {candidate}"
        if self.hints.change(tensor.name) == "quantized" and tensor.name not in self.prover.groups and self.differs:
            return "refused", "it is quantized in a way that is not known"
        if tensor.count > 1:
            one = tensor.is_float and not np.ptp(tensor.floats())
            for name in unplaced:
                if one and name in self.was and np.ptp(self.old.floats(name)):
                    continue                                # one number throughout is made of no others
                group = self.prover.groups.get(tensor.name)
                shape = tensor.shape if group is None else group.groups.shape
                if any(_may_hold(shape, side[name].numbers.shape) for side in (self.was, self.new) if name in side):
                    return "refused", f"it may hold {name}, which no tensor holds"
        return "kept", "no parameter gives its numbers" if tensor.count > _SMALL else "a constant"

    def _candidate(self, tensor: Tensor) -> Optional[str]:
        """A parameter that differs and of which the numbers seem to be made: by a function of each, or in part."""
        if not tensor.is_float and tensor.name not in self.prover.groups:
            return None
        if tensor.name in self.prover.groups:
            group = self.prover.groups[tensor.name]
            numbers, _ = dequantized(tensor.numbers(), group.scale.floats().reshape(-1),
                                     None if group.zero is None else group.zero.numbers(), group.groups)
        else:
            numbers = tensor.floats()
        rough = 1e-5 if tensor.kind == FLOAT else 5e-3
        known = np.unique(numbers)
        for source in self._all_sources():
            if not set(source.parameters) & self.differs:
                continue
            if source.size == numbers.size:
                for base in self.prover.library.moved(source, numbers.shape):
                    if _follows(base.make(self.old), numbers.reshape(-1), rough):
                        return source.parameters[0]
            elif source.word == "same" and known.size > WEAK and tensor.is_float:
                own = self.old.floats(source.parameters[0]).reshape(-1)
                picked = own if own.size <= 4096 else own[np.arange(4096) * (own.size // 4096)]
                few = known if known.size <= 4096 else known[np.arange(4096) * (known.size // 4096)]
                if own.size < numbers.size:
                    shared = np.isin(few.astype(np.float32), own.astype(np.float16).astype(np.float32)
                                     if tensor.kind != FLOAT else own).mean()
                else:
                    shared = np.isin(few.astype(np.float32), picked).mean() if own.size <= 4096 else \
                        np.isin(few.astype(np.float32), own).mean()
                if shared > 0.5 and not set(np.unique(few)) <= {-1.0, 0.0, 1.0}:
                    return source.parameters[0]
        return None

    def _all_sources(self) -> List[Source]:
        return self.prover.library.sources

    # ------------------------------------------------------------ parameters without a tensor
    def _unused(self) -> Tuple[List[str], Dict[str, str]]:
        """A parameter that differs must reach a tensor, unless no tensor is left that may hold it."""
        unused = self._unplaced()
        placed = {module_of(name) for row in self.rows.values() if row.fate == "written" for name in row.parameters}
        lost: Dict[str, str] = {}
        for name in unused:
            if self.keeps(name):
                continue
            if name in self.added:
                lost[name] = "the adapter adds to it, and no tensor holds it"
            elif name not in self.was:
                if any(self.rows[tensor.name].fate == "refused" for tensor in self.model.tensors):
                    lost[name] = "the old checkpoint has none"
            elif module_of(name) in placed and self._is_neutral(name):
                lost[name] = "it was 0 or 1 throughout, and was left out of the model"
            else:
                holder = next((row for row in self.rows.values() if row.fate == "refused"), None)
                if holder is not None:
                    lost[name] = f"no tensor holds it, and {holder.tensor} is refused"
        return unused, lost

    def _is_neutral(self, name: str) -> bool:
        numbers = self.old.floats(name).reshape(-1)
        return bool(numbers.size and numbers[0] in (0, 1) and np.all(numbers == numbers[0]))

    def _refuse_shared(self) -> None:
        """Tensors that share bytes of a file must be written alike."""
        places = sorted((tensor.file or self.model.path, tensor.at, -tensor.size, tensor.name)
                        for tensor in self.model.tensors
                        if tensor.size and tensor.data is not None)
        last: List[Tuple[str, int, int, str]] = []
        for path, at, size, name in places:
            last = [one for one in last if one[0] == path and one[1] + one[2] > at]
            for _, begin, length, other in last:
                fates = {self.rows[name].fate, self.rows[other].fate}
                if "written" not in fates or (fates == {"written"} and (begin, length) == (at, -size) and
                                              self._same_bytes(name, other)):
                    continue
                for one, two in ((name, other), (other, name)):
                    if self.rows[one].fate == "written":
                        self.rows[one].fate, self.rows[one].proof = "refused", None
                        self.rows[one].why = f"it shares bytes with {two}, which gets other numbers or none"
            last.append((path, at, -size, name))

    def _same_bytes(self, one: str, other: str) -> bool:
        made = []
        for name in (one, other):
            of = name if name in self.prover.matches else self.prover.helpers.get(name, name)
            made.append(self.prover.matches[of].make(self.now)[name].tobytes())
        return made[0] == made[1]


class _Unproven(_Planner):
    """Without an old checkpoint: exact names, where nothing can be folded in."""
    proof = "its name"

    def __init__(self, model: ModelFile, weights: Sequence[Dict[str, Any]], was: Checkpoint, now: Checkpoint,
                 added: Dict[str, LowRank], keep: Sequence[str]) -> None:
        super().__init__(model, weights, was, now, added, keep)
        self.differs = set(self.new)

    def _match(self) -> None:
        lacks = any(name.endswith("running_var") and name not in self.model.by_name for name in self.new)
        for tensor in self.model.tensors:
            own = self.new.get(tensor.name)
            if own is None or tensor.data is None or not tensor.is_float or not own.is_float or \
                    list(own.numbers.shape) != tensor.shape or own.kind != {1: "F32", 10: "F16", 11: "F64",
                        16: "BF16"}[tensor.kind]:
                continue
            readers = self.model.readers.get(tensor.name, ())
            if lacks and any(self.model.nodes[node].op in (*CONVOLUTIONS, "Gemm") for node, _ in readers):
                self.prover.refused[tensor.name] = \
                    "a norm of the checkpoint is not in the model: it may be folded into this"
                continue
            source = whole(tensor.name, tensor.shape)
            base = next(self.prover.library.moved(source, tensor.shape))
            self.prover.matches[tensor.name] = self.prover._cast(tensor, base, 0)
            if self.hints.change(tensor.name) == "tied" or len(readers) > 1:
                self.prover.matches[tensor.name].doubt = "several nodes read it, and nothing proves that they share it"

    def _judge(self, tensor: Tensor, unplaced: Sequence[str]) -> Tuple[str, str]:
        if tensor.data is not None and tensor.count <= _SMALL and tensor.name not in self.hints.named and \
                not self.hints.of(tensor.name).get("parameters"):
            return "kept", "a constant"
        return "refused", "no parameter has its name, shape and type"


def _raw(parameter: Parameter) -> "Array":
    return np.ascontiguousarray(parameter.numbers).reshape(-1).view(np.uint8)


def _may_hold(own: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether sizes allow that a tensor was computed from a parameter of that shape."""
    count = int(np.prod(shape, dtype=np.int64))
    if count <= 1:
        return True
    return int(np.prod(own)) % count == 0 or bool({dim for dim in shape if dim > 1} & {dim for dim in own if dim > 1})


def _follows(made: "Array", numbers: "Array", rough: float) -> bool:
    """Whether the numbers are a function of others, or go with them."""
    made, numbers = made.astype(np.float64), numbers.astype(np.float64)
    with np.errstate(all="ignore"):
        plain = made[(made != 0) & (made != 1)].size == made.size
        for function in (lambda x: x, np.negative, np.exp, lambda x: -np.exp(x), lambda x: np.log1p(np.exp(x)),
                         lambda x: 1 / (1 + np.exp(-x)), np.tanh, lambda x: 1 / x, np.square, np.sqrt, np.abs):
            value = function(made)
            if plain and np.all(np.abs(numbers - value) <= rough * np.abs(value) + rough * 1e-3):
                return True
        if made.size < 64 or not np.isfinite(made).all() or not np.isfinite(numbers).all():
            return False
        a, b = made - made.mean(), numbers - numbers.mean()
        size = np.sqrt((a * a).sum() * (b * b).sum())
        return bool(size > 0 and abs((a * b).sum()) / size > max(0.2, 6 / np.sqrt(made.size)))


def table_kind(numbers: "Array", slack: float) -> Optional[str]:
    """Numbers of a range, a mask, a table of positions, or one number throughout; None for others."""
    flat = numbers.reshape(-1).astype(np.float64)
    size = np.abs(flat)
    if (size >= 9999).any() and np.isin(flat[size < 9999], (0, 1)).all():
        return "a mask"
    with np.errstate(all="ignore"):
        for steps, still in ((np.diff(flat), 0), (flat[1:] / flat[:-1], 1)) if flat.size > 2 else ():
            first = steps[0]
            near = 1e-4 * (1 if still else abs(first)) + slack * 1e-2
            if np.isfinite(steps).all() and first not in (0, still) and np.all(np.abs(steps - first) <= near):
                return "a range"
        if _turns(numbers.astype(np.float64), slack):
            return "a table of positions"
    return "one number" if sum(dim > 1 for dim in numbers.shape) > 1 and np.all(flat == flat[0]) else None


def _turns(numbers: "Array", slack: float) -> bool:
    """Rows that turn: x[p + 1] = 2 cos(f) x[p] - x[p - 1] in every column."""
    if numbers.ndim < 2 or numbers.shape[-2] < 4 or np.abs(numbers).max() > 1.5:
        return False
    rows = numbers.reshape(-1, *numbers.shape[-2:])
    inner = rows[:, 1:-1]
    best = np.abs(inner).argmax(1)[:, None]
    sums = rows[:, :-2] + rows[:, 2:]
    turn = np.take_along_axis(sums, best, 1) / np.take_along_axis(inner, best, 1)
    moving = np.abs(rows[:, 0] - rows[:, -1]).max() > 0.01
    return bool(moving and np.all(np.abs(turn * inner - sums) <= 2e-3 + 6 * slack))


def hints_of(answer: str) -> List[Dict[str, Any]]:
    rows: List[Dict[str, Any]] = json.loads(answer)["weights"]
    return rows


__all__ = ["CARRIERS", "FLOATS", "Hints", "Plan", "Row", "Unusable", "hints_of", "make_plan"]
