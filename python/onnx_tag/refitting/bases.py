"""The ways in which parameters become numbers of a tensor, before these are rounded.

A Base makes the numbers of one checkpoint. With the old one it is proved, with the new one it gives the new bytes.
"""
from __future__ import annotations

import hashlib
import itertools
import re
from typing import TYPE_CHECKING, Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .checkpoints import Parameter
from .schemes import cast

if TYPE_CHECKING:
    from ..arrays import Array

# Fewer numbers are equal by chance.
WEAK = 4
EPSILONS = (1e-5, 1e-3, 1e-6, 1e-4, 1e-2, 1e-8, 1e-12, 0.0)
_RECURRENT = re.compile(r"(.*)weight_ih_l(\d+)(_reverse)?")
# The gates of torch in the order of ONNX, by their number.
_GATES = {4: (0, 3, 1, 2), 3: (1, 0, 2), 1: (0,)}
_MOST_ROWS = 1 << 22


class Unusable(Exception):
    """Why the new checkpoint cannot give these numbers."""


class LowRank(NamedTuple):
    """What an adapter adds to a parameter."""
    a: "Array"
    b: "Array"
    scale: float
    turned: bool

    def product(self) -> "Array":
        made: "Array" = (self.b.astype(np.float32) @ self.a.astype(np.float32)) * np.float32(self.scale)
        return made.T if self.turned else made


class Side:
    """The parameters of one checkpoint. Those of the new one must have the shapes of the old."""

    def __init__(self, parameters: Dict[str, Parameter], like: Optional[Dict[str, Parameter]] = None,
                 added: Optional[Dict[str, LowRank]] = None) -> None:
        self.parameters, self._like, self.added = parameters, like or parameters, added or {}

    def why_unusable(self, name: str) -> str:
        old, new = self._like[name], self.parameters.get(name)
        if new is None:
            return f"the new checkpoint has no {name}"
        if new.numbers.shape != old.numbers.shape:
            return (f"{name} is {list(old.numbers.shape)} in the old checkpoint, {list(new.numbers.shape)} in the new "
                    "one")
        return "" if new.is_float == old.is_float else f"{name} has another type in the new checkpoint"

    def floats(self, name: str) -> "Array":
        why = self.why_unusable(name)
        if why:
            raise Unusable(why)
        numbers = self.parameters[name].floats()
        return numbers + self.added[name].product() if name in self.added else numbers


class Source(NamedTuple):
    """Numbers in a shape of their own: a parameter, or the gates of a recurrent layer."""
    word: str
    parameters: Tuple[str, ...]
    shape: Tuple[int, ...]
    make: "Callable[[Side], Array]"
    weight: str = ""                                        # the parameter that says which module it is

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


class Base(NamedTuple):
    word: str
    parameters: Tuple[str, ...]
    view: "Callable[[Side], Array]"                         # its numbers, in the order of the tensor
    source: Optional[Source] = None
    axes: Tuple[int, ...] = ()                              # of the source, in the order of the view
    turned: bool = False
    norm: "Optional[Norm]" = None
    runs: "Tuple[Tuple[str, int, int], ...]" = ()           # rows: parameter, first row, how many
    others: FrozenSet[str] = frozenset()                    # parameters of which it may be as well, itself included

    def make(self, side: "Side") -> "Array":
        return np.ascontiguousarray(self.view(side)).reshape(-1)


class Alike(NamedTuple):
    """What gives the same bytes."""
    bases: Dict[Tuple[str, ...], Base]
    names: FrozenSet[str]


class Norm(NamedTuple):
    """What a scale by channel is made of; a parameter alone has no variance."""
    weight: Optional[str]
    bias: Optional[str] = None
    mean: Optional[str] = None
    variance: Optional[str] = None
    epsilon: float = 0.0

    @property
    def parameters(self) -> Tuple[str, ...]:
        return tuple(name for name in self[:4] if name)

    def scale(self, side: Side) -> "Array":
        if self.variance is None:
            return side.floats(self.weight or "").reshape(-1)
        root = np.sqrt(side.floats(self.variance) + np.float32(self.epsilon))
        made: "Array" = (side.floats(self.weight) if self.weight else np.ones_like(root)) / root
        return made


def whole(name: str, shape: Sequence[int]) -> Source:
    return Source("same", (name,), tuple(shape), lambda side: side.floats(name), name)


def module_of(parameter: str) -> str:
    """With the dot: "a.norm." of "a.norm.weight"."""
    return parameter[:parameter.rfind(".") + 1]


def _gates(names: Sequence[str], count: int) -> "Callable[[Side], Array]":
    def make(side: Side) -> "Array":
        parts = [np.split(side.floats(name), count) for name in names]
        return np.concatenate([part[gate] for part in parts for gate in _GATES[count]])
    return make


def _recurrent(shapes: Dict[str, Tuple[int, ...]]) -> Iterator[Source]:
    layers: Dict[Tuple[str, str], Dict[str, str]] = {}
    for name in shapes:
        match = _RECURRENT.fullmatch(name)
        if match:
            layers.setdefault((str(match[1]), str(match[2])), {})[match[3] or ""] = name
    for (stem, layer), ends in layers.items():
        for directions in (("", "_reverse"), ("",), ("_reverse",)):
            if any(end not in ends for end in directions):
                continue
            for kinds in (("weight_ih",), ("weight_hh",), ("bias_ih", "bias_hh")):
                names = [[f"{stem}{kind}_l{layer}{end}" for kind in kinds] for end in directions]
                recurrent = shapes.get(f"{stem}weight_hh_l{layer}{directions[0]}", ())
                if not all(name in shapes for row in names for name in row) or len(recurrent) != 2 or recurrent[1] == 0:
                    continue
                gates = recurrent[0] // recurrent[1]
                if gates not in _GATES or recurrent[0] % recurrent[1] or len({shapes[name] for row in names
                    for name in row}) > 1 \
                        or shapes[names[0][0]][:1] != recurrent[:1]:
                    continue
                makers = [_gates(row, gates) for row in names]
                shape = (len(directions), len(kinds) * shapes[names[0][0]][0], *shapes[names[0][0]][1:])
                yield Source("gates", tuple(name for row in names for name in row), shape,
                             lambda side, makers=makers: np.stack([make(side) for make in makers]))    # type: ignore


class Library:
    """Every source of the old checkpoint, by what a tensor shows of it."""

    def __init__(self, old: Side) -> None:
        self.old = old
        self.shapes = {name: tuple(p.numbers.shape) for name, p in old.parameters.items() if p.is_float}
        self.sources = [whole(name, shape) for name, shape in self.shapes.items()] + list(_recurrent(self.shapes))
        self.by_count: Dict[int, List[Source]] = {}
        for source in self.sources:
            self.by_count.setdefault(source.size, []).append(source)
        self.by_name = {source.parameters[0]: source for source in self.sources if source.word == "same"}
        self.norms: Dict[int, List[Norm]] = {}
        self.vectors: Dict[int, List[Norm]] = {}
        for name, shape in self.shapes.items():
            if name.endswith("running_var") and len(shape) == 1:
                module = module_of(name)
                weight, bias, mean = (word if self.shapes.get(word) == shape else None
                                      for word in (module + "weight", module + "bias", module + "running_mean"))
                self.norms.setdefault(int(np.prod(shape)), []).extend(
                    Norm(weight, bias, mean, name, epsilon) for epsilon in EPSILONS)
            elif sum(dim > 1 for dim in shape) == 1:
                self.vectors.setdefault(int(np.prod(shape)), []).append(Norm(name))
        self._digests: Dict[Tuple[int, Tuple[int, ...], int, int], Dict[bytes, Alike]] = {}
        self._rows: Dict[Tuple[int, int], Dict[bytes, Tuple[str, bool, int, bool]]] = {}
        self._scales: "Dict[Norm, Array]" = {}
        self._alike: Dict[int, Dict[str, FrozenSet[str]]] = {}

    def scale(self, norm: Norm) -> "Array":
        if norm not in self._scales:
            with np.errstate(all="ignore"):
                self._scales[norm] = norm.scale(self.old)
        return self._scales[norm]

    def moved(self, source: Source, shape: Sequence[int]) -> Iterator[Base]:
        """The source as it is, and with its axes in other orders that give the shape, dimensions of 1 left out."""
        yield Base(source.word, source.parameters, source.make, source, tuple(range(len(source.shape))))
        wide = [axis for axis, dim in enumerate(source.shape) if dim > 1]
        asked = [dim for dim in shape if dim > 1]
        if len(wide) < 2 or sorted(source.shape[axis] for axis in wide) != sorted(asked) or len(wide) > 5:
            return
        for order in itertools.permutations(wide):
            if list(order) == wide or [source.shape[axis] for axis in order] != asked:
                continue
            axes = order + tuple(axis for axis, dim in enumerate(source.shape) if dim <= 1)
            yield Base("transposed", source.parameters,
                       lambda side, axes=axes: source.make(side).transpose(axes),    # type: ignore
                       source, axes, turned=True)

    def alike(self, base: "Base", preferred: Sequence[str]) -> "Base":
        """The base, or a preferred one whose old numbers are the same; with the names of all of these."""
        source = base.source
        if source is None or source.word != "same":
            return base
        if source.size not in self._alike:
            found: Dict[bytes, List[str]] = {}
            for other in self.by_count[source.size]:
                if other.word == "same":
                    found.setdefault(digest(self.old.floats(other.parameters[0])), []).append(other.parameters[0])
            self._alike[source.size] = {name: frozenset(names) for names in found.values() if len(names) > 1
                                        for name in names}
        names = self._alike[source.size].get(source.parameters[0], frozenset())
        told = next((name for name in preferred if name in names and self.shapes[name] == source.shape), None)
        if told is not None and told != source.parameters[0]:
            base = next((one for one in self.moved(self.by_name[told], [source.shape[axis] for axis in base.axes])
                         if one.axes == base.axes), base)
        return base._replace(others=names)

    def equal(self, data: "Array", kind: int, clamp: int, shape: Sequence[int],
              preferred: Sequence[str]) -> Optional[Base]:
        """A base with these bytes, a preferred one if there is one."""
        dims = tuple(dim for dim in shape if dim > 1)
        count = int(np.prod(dims, dtype=np.int64))
        key = (count, dims, kind, clamp)
        if key not in self._digests:
            table: Dict[bytes, Dict[Tuple[str, ...], Base]] = {}
            for source in self.by_count.get(count, ()):
                for base in self.moved(source, shape):
                    table.setdefault(digest(cast(base.make(self.old), kind, clamp)), {}).setdefault(base.parameters,
                        base)
            self._digests[key] = {at: Alike(bases, frozenset(one[0] for one in bases) if len(bases) > 1
                                            else frozenset())
                                  for at, bases in table.items()}
        alike = self._digests[key].get(digest(data))
        if alike is None:
            return None
        told = next((alike.bases[name,] for name in preferred if (name,) in alike.bases), None)
        return (told or next(iter(alike.bases.values())))._replace(others=alike.names)

    # ------------------------------------------------------------ rows
    def _row_table(self, kind: int, width: int) -> "Dict[bytes, Tuple[str, bool, int, bool]]":
        """By the bytes of a row: a parameter, whether its columns are meant, the row, and whether another has it,
        too."""
        if (kind, width) not in self._rows:
            table: Dict[bytes, Tuple[str, bool, int, bool]] = {}
            for name, shape in self.shapes.items():
                for turned in (False, True):
                    rows = rows_of(self.old, name, shape, turned, width)
                    if rows is None or len(rows) > _MOST_ROWS:
                        continue
                    for i, row in enumerate(cast(rows, kind).reshape(len(rows), width)):
                        key = row.tobytes()
                        known = table.get(key)
                        table[key] = (*known[:3], True) if known else (name, turned, i, False)
            self._rows[kind, width] = table
        return self._rows[kind, width]

    def rows(self, numbers: "Array", kind: int, preferred: Sequence[str]) -> Optional[Base]:
        """Rows of parameters, one after another: pieces, packs, repeated rows, tables that were looked up."""
        shape = numbers.shape
        views = [tuple(range(len(shape)))] + [tuple(a for a in range(len(shape)) if a != axis) + (axis,)
                                              for axis in range(len(shape) - 1)]
        for axes in views:
            view = np.ascontiguousarray(numbers.transpose(axes))
            wide = [dim for dim in shape if dim > 1]
            for width in self._widths(view.shape[-1] if view.ndim else 1, view.size, len(wide) <= 1):
                runs = self._runs(view.reshape(-1, width), kind, width, preferred)
                if runs is None:
                    continue
                back = tuple(int(i) for i in np.argsort(axes))
                parameters = tuple(dict.fromkeys(run[0] for run in runs[0]))

                def make(side: Side, runs: "List[Tuple[str, bool, int, int]]" = runs[0], width: int = width,
                         moved: Tuple[int, ...] = view.shape, back: Tuple[int, ...] = back) -> "Array":
                    found = [rows_of(side, name, self.shapes[name], turned, width)[first:first + many]   # type: ignore
                             for name, turned, first, many in runs]
                    made: "Array" = np.concatenate(found).reshape(moved).transpose(back)
                    return made

                picked = [first + k for _, _, first, many in runs[0] for k in range(many)] if len(runs[0]) > 16 else []
                if picked and not is_regular(picked, view.shape[-2] if view.ndim > 1 else 1):
                    continue
                word = "looked up" if len(runs[0]) > 16 else "packed" if len(parameters) > 1 else \
                    "piece" if len(runs[0]) == 1 else "pieces"
                return Base(word, parameters, make, turned=any(run[1] for run in runs[0]),
                            runs=tuple((name, first, many) for name, _, first, many in runs[0]),
                            others=frozenset(runs[1]))
        return None

    def _widths(self, last: int, count: int, line: bool) -> List[int]:
        if not line:
            return [last] if last > 1 else []
        sizes = {int(np.prod(shape)) // parts for shape in self.shapes.values() if sum(dim > 1 for dim in shape) == 1
                 for parts in (1, 2, 3, 4)}
        return [count, *sorted((size for size in sizes if WEAK < size < count and count % size == 0), reverse=True)[:6]]

    def _runs(self, rows: "Array", kind: int, width: int,
              preferred: Sequence[str]) -> "Optional[Tuple[List[Tuple[str, bool, int, int]], Tuple[str, ...]]]":
        table = self._row_table(kind, width)
        if not table:
            return None
        runs: List[List[object]] = []
        doubtful: List[str] = []
        continued: "Optional[Array]" = None
        for row in rows:
            key = row.tobytes()
            known = table.get(key)
            if known is None:
                return None
            if runs and continued is not None:
                at = int(runs[-1][2]) + int(runs[-1][3])    # type: ignore[call-overload]
                if at < len(continued) and cast(continued[at], kind).tobytes() == key:
                    runs[-1][3] = int(runs[-1][3]) + 1      # type: ignore[call-overload]
                    continue
            name, turned, first, several = known
            if several:
                better = [one for one in preferred if one in self.shapes and one != name]
                for one in better:
                    found = rows_of(self.old, one, self.shapes[one], turned, width)
                    if found is not None and cast(found[0], kind).tobytes() == key:
                        name, first = one, 0
                        break
                else:
                    doubtful.append(name)
            runs.append([name, turned, first, 1])
            continued = rows_of(self.old, name, self.shapes[name], turned, width)
        return [tuple(run) for run in runs], tuple(dict.fromkeys(doubtful))      # type: ignore


def rows_of(side: Side, name: str, shape: Tuple[int, ...], turned: bool, width: int) -> "Optional[Array]":
    """The parameter as rows of that width; a vector is cut. None: it has no such rows."""
    wide = [dim for dim in shape if dim > 1]
    if turned:
        return side.floats(name).T if len(shape) == 2 and shape[0] == width and shape[1] > 1 else None
    if len(wide) <= 1 and width > 0 and int(np.prod(shape)) % width == 0:
        return side.floats(name).reshape(-1, width)
    return side.floats(name).reshape(-1, width) if len(shape) > 1 and shape[-1] == width else None


def is_regular(rows: Sequence[int], line: int) -> bool:
    """Whether most steps from row to row are of a few sizes, as in a table of relative positions."""
    steps = [after - before for k, (before, after) in enumerate(zip(rows, rows[1:])) if (k + 1) % line]
    counts = sorted((steps.count(step) for step in set(steps)), reverse=True)
    return sum(counts[:4]) >= sum(counts[4:])


def digest(data: "Array") -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data, digest_size=16).digest()
