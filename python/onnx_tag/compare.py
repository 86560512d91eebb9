"""Where two versions of a model begin to differ, module by module.

A is a recorded run of a PyTorch model (a reference), the PyTorch model itself, or an ONNX file; B is an ONNX file. Both
see the same inputs. The outputs of some modules at a time become outputs of the graph, so that memory stays bounded,
and are compared as real numbers. Needs numpy and onnxruntime, and torch only for a PyTorch model.
"""
from __future__ import annotations

import argparse
import contextlib
import functools
import math
import os
import sys
import tempfile
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from . import odd_bytes, program
from .arrays import read_npz
from .contributions import contributions
from .engine_values import EngineSide, are_values
from .errors import InputError, TagsError, printable
from .globs import matcher
from .measures import CLASSES, Errors
from .onnx_side import Found, FoundValues, OnnxSide, Tap
from .outputs import Inputs, judge, write
from .reference import MAX_SIZE, Recorded, Reference, Values, is_reference, record_reference
from .tags import SourceLine, is_under
from .user_function import call, source_file


class CompareError(TagsError):
    """The two versions cannot be compared; the text says why."""


class Precision(NamedTuple):
    """What numbers B computes with, and what is usual for them."""
    name: str
    min_sqnr: Optional[float]                               # dB; None: rtol and atol decide
    max_lost: Optional[float]                               # dB
    usual: float                                            # dB that one operation has on exact inputs


FLOAT = Precision("float32", None, None, 110)
HALF = Precision("float16", 30, 20, 45)
EIGHT_BITS = Precision("8 bits", 15, 12, 35)
FOUR_BITS = Precision("4 bits", 8, 12, 20)


@dataclass(frozen=True)
class Tolerance:
    """What a module must keep; None is no condition."""
    rtol: Optional[float] = None                            # of the largest value of the module
    atol: Optional[float] = None
    min_sqnr: Optional[float] = None
    min_cosine: Optional[float] = None
    max_lost: Optional[float] = None                        # dB that a module itself loses

    def or_usual(self, precision: Precision) -> "Tolerance":
        """Where nothing was asked for: what is usual for the numbers of B."""
        if self == Tolerance():
            if precision.min_sqnr is None:
                return Tolerance(1e-3, 1e-5)
            return Tolerance(min_sqnr=precision.min_sqnr, max_lost=precision.max_lost)
        if self.rtol is not None or self.atol is not None:
            return replace(self, rtol=self.rtol or 0.0, atol=1e-5 if self.atol is None else self.atol)
        return self

    def holds(self, errors: Errors) -> bool:
        if errors.unlike:
            return False
        if self.rtol is not None and self.atol is not None and not errors.is_within(self.rtol, self.atol):
            return False
        # Without a signal there is no ratio: an output of zeros that differs is out.
        return ((self.min_sqnr is None or errors.sqnr >= self.min_sqnr)
                and (self.min_cosine is None or errors.cosine >= self.min_cosine))

    def __str__(self) -> str:
        said = []
        if self.rtol is not None:
            said.append(f"rtol {self.rtol:g}, atol {self.atol:g}")
        if self.min_sqnr is not None:
            said.append(f"SQNR at least {self.min_sqnr:g} dB")
        if self.min_cosine is not None:
            said.append(f"cosine at least {self.min_cosine:g}")
        if self.max_lost is not None:
            said.append(f"at most {self.max_lost:g} dB lost in a module")
        return ", ".join(said)


@dataclass
class Row:
    """What is known of one module: its outputs in A and in B."""
    module: str
    cls: Optional[str]
    errors: Errors
    parts: List[Tuple[int, Errors]]                         # by output: the node that makes it in B, and its errors
    values: List[str] = field(default_factory=list)         # in B
    folded: List[str] = field(default_factory=list)         # modules of A that B has inside this one
    confidence: Optional[str] = None                        # of the tags of these values, the lowest
    line: Optional[SourceLine] = None                       # of code: made the value of B, or calls the module in A
    added: float = 0.0                                      # relative error that its inputs do not have
    lost: float = 0.0                                       # dB of SQNR that its inputs still have
    within: bool = True
    given: Dict[str, Any] = field(default_factory=dict)     # by value of A, a model: what B has there
    place: int = 0                                          # of the node where it leaves the tolerance, or ends

    @property
    def order(self) -> Tuple[int, int]:
        """Where several modules end at one node, the deepest first."""
        return self.place, -self.module.count(".") if self.module else 1


@dataclass
class Comparison:
    """The outcome; rows are in the order in which modules run."""
    a: str
    b: str
    rows: List[Row]
    only_a: List[str]
    only_b: List[str]
    shapes: List[str]                                       # modules whose outputs have other shapes
    not_real: List[str]                                     # integers of B without a known scale
    not_found: List[str]                                    # modules whose result has the tag of another in B
    no_numbers: List[str]                                   # modules without a number in both: empty, NaN or Inf
    precision: Precision
    tolerance: Tolerance
    sure: int
    nodes: int
    worst: List[Row] = field(default_factory=list)

    @property
    def first(self) -> Optional[Row]:
        return next((row for row in self.rows if not row.within), None)

    @property
    def first_not_finite(self) -> Optional[Row]:
        return next((row for row in self.rows if row.errors.not_finite_b or row.errors.not_finite_a), None)

    @property
    def equal(self) -> bool:
        return self.first is None and not self.shapes

    @property
    def guessed(self) -> List[Row]:
        return [row for row in self.rows if row.confidence == "low"]

    @property
    def weak(self) -> bool:
        """Whether the tags of B are too weak to trust the names of modules."""
        return self.sure < 0.8 * self.nodes or self.lacks_many

    @property
    def lacks_many(self) -> bool:
        """B merges some modules of A into others; if it has less than half, tags are missing."""
        return len(self.only_a) > len(self.rows)

    def to_json(self) -> Dict[str, Any]:
        def number(value: float) -> Any:
            return value if math.isfinite(value) else None
        first, not_finite, tolerance = self.first, self.first_not_finite, self.tolerance
        return {
            "a": self.a, "b": self.b, "precision": self.precision.name, "rtol": tolerance.rtol, "atol": tolerance.atol,
            "min_sqnr_db": tolerance.min_sqnr, "min_cosine": tolerance.min_cosine,
            "max_lost_db": tolerance.max_lost, "equal": self.equal,
            "first": first.module if first else None,
            "first_not_finite": not_finite.module if not_finite else None,
            "worst": [row.module for row in self.worst],
            "histogram_ends": list(CLASSES),
            "modules": [{"module": row.module, "class": row.cls, "max": number(row.errors.max),
                         "mean": number(row.errors.mean), "relative": number(row.errors.relative),
                         "sqnr_db": number(row.errors.sqnr), "cosine": row.errors.cosine,
                         "histogram": row.errors.histogram, "not_finite_a": row.errors.not_finite_a,
                         "not_finite_b": row.errors.not_finite_b, "largest_a": number(row.errors.largest_a),
                         "largest_b": number(row.errors.largest_b), "unlike": row.errors.unlike,
                         "sampled": row.errors.sampled, "added": number(row.added), "lost_db": number(row.lost),
                         "values": row.values, "folded": row.folded, "confidence": row.confidence,
                         "source_line": asdict(row.line) if row.line else None,
                         "within": row.within} for row in self.rows],
            "only_a": self.only_a, "only_b": self.only_b, "other_shapes": self.shapes, "not_real": self.not_real,
            "not_found": self.not_found, "no_numbers": self.no_numbers,
            "sure_nodes": self.sure, "nodes": self.nodes,
        }

    def to_text(self, all_rows: bool = False, sort: str = "lost", color: bool = False, most: int = 30) -> str:
        lines = [f"A  {printable(self.a)}", f"B  {printable(self.b)} ({self.precision.name})", ""]
        # Where nothing is out of tolerance: the modules that lose most.
        shown = sorted((row for row in self.rows if all_rows or self.equal or not row.within), key=SORTS[sort])
        if self.equal:
            most = min(most, HEAD)
        left = 0 if all_rows else len(shown) - most
        if shown:
            lines.append(f"{'max':>9} {'mean':>9} {'cosine':>8} {'SQNR dB':>8} {'lost dB':>8} {'errors':>8}  module"
                         + ("  code" if any(row.line for row in shown) else ""))
            lines += [_line(row, color) for row in (shown if left <= 0 else shown[:most])]
            if left > 0:
                lines.append(f"... and {left} more; list them with --all")
            lines += [LEGEND, ""]
        lines.append(f"{len(self.rows)} modules compared, {sum(not row.within for row in self.rows)} out of tolerance "
                     f"({self.tolerance})")
        for title, modules in (("only in A", self.only_a), ("only in B", self.only_b),
                               ("with other shapes", self.shapes), ("with integers of unknown scale", self.not_real),
                               ("whose result has the tag of another in B", self.not_found),
                               ("not compared, because no value is a number in both", self.no_numbers)):
            if modules:
                names = ", ".join(printable(module) for module in modules[:5])
                lines.append(f"{len(modules)} {title}: {names}{', ...' if len(modules) > 5 else ''}")
        if self.first is not None:
            lines.append(f"first out of tolerance: {_named(self.first)}")
            lines += _code(self.first.line)
        if self.worst:
            lines.append("adds most: " + ", ".join(_named(row) for row in self.worst))
        if self.first_not_finite is not None:
            row, errors = self.first_not_finite, self.first_not_finite.errors
            lines.append(f"first NaN or Inf: {_named(row)} ({errors.not_finite_a} in A, {errors.not_finite_b} in B)")
        return "\n".join(lines) + "\n"

    def to_table(self) -> str:
        """For `onnx-tag profile` and `report --profile`: one line for each value of B."""
        lines: Dict[str, str] = {}
        for row in self.rows:                               # deeper modules come first
            for value in row.values:
                numbers = (row.errors.relative, row.errors.noise, row.lost)
                code = printable(str(row.line)) if row.line else ""
                lines.setdefault(value, value + "".join(f"\t{min(number, 1e12):.9g}" for number in numbers)
                                 + f"\t{code}\n")
        return TABLE_HEAD + "\tcode\n" + "".join(lines.values())


HEAD = 5                                                    # rows shown where nothing is out of tolerance
LEGEND = f"errors: tenths of the values, by relative error: up to {', '.join(f'{end:g}' for end in CLASSES)}, more"
MOST_HALF = 65504.0                                         # the largest number of float16
TABLE_HEAD = "value\trelative_error\tnoise_to_signal\tlost_db"
SORTS: Dict[str, Any] = {
    "lost": lambda row: (-row.lost, row.order), "order": lambda row: row.order,
    "sqnr": lambda row: (row.errors.sqnr, row.order), "max": lambda row: (-row.errors.max, row.order),
    "mean": lambda row: (-row.errors.mean, row.order), "cosine": lambda row: (row.errors.cosine, row.order),
    "module": lambda row: row.module}


def _named(row: Row) -> str:
    return printable(f"{row.module or '<root>'} ({row.cls})" if row.cls else row.module or "<root>")


def _code(line: Optional[SourceLine]) -> List[str]:
    """A line of code as `explain` shows it."""
    if line is None:
        return []
    place = printable(f"{line}, in {line.function}" if line.function else str(line))
    return [f"  code  {place}", *([f"          {printable(line.text)}"] if line.text else [])]


def _classes(histogram: Sequence[int]) -> str:
    """Shares in tenths, one character for each class of relative errors."""
    total = sum(histogram) or 1
    return "".join("." if count == 0 else "0123456789X"[round(10 * count / total)] for count in histogram)


def _line(row: Row, color: bool) -> str:
    errors = row.errors
    notes = "".join([f"  {printable(row.line.place)}" if row.line else "",
                     f"  with {', '.join(printable(module) for module in row.folded)}" if row.folded else "",
                     f"  {errors.not_finite_b} NaN or Inf" if errors.not_finite_b else "",
                     f"  values up to {errors.largest_a:.4g}, float16 ends at {MOST_HALF:g}"
                     if errors.largest_a > MOST_HALF / 16 else "",
                     "  sampled" if errors.sampled else "", "  guessed" if row.confidence == "low" else ""])
    text = (f"{errors.max:9.3g} {errors.mean:9.3g} {errors.cosine:8.5f} {errors.sqnr:8.1f} {row.lost:8.1f} "
            f"{_classes(errors.histogram)}  {_named(row)}{notes}")
    code = "31" if not row.within else "33" if row.lost > 6 else ""
    return f"\033[{code}m{text}\033[0m" if color and code else text


# ------------------------------------------------------------ sides
class OnnxReference:
    """An ONNX file as A."""

    def __init__(self, side: OnnxSide) -> None:
        self.side = side
        self.name = side.name
        self.hierarchy: Optional[Mapping[str, Any]] = None

    def classes(self) -> Dict[str, Optional[str]]:
        return self.side.classes()

    @functools.cached_property
    def _readers(self) -> Dict[str, List[str]]:
        graph = self.side.graph
        found: Dict[str, List[str]] = {}
        for tap in self.side.taps:
            modules = {node.module for node in graph.readers.get(tap.candidates[0].value, [])}
            found.setdefault(tap.module, []).extend(module for module in modules if module)
        return found

    def readers(self, module: str) -> List[str]:
        return self._readers.get(module, [])

    def line(self, module: str) -> Optional[SourceLine]:
        found = (self.side.graph.line_of(tap.candidates[0].value) for tap in self.side.by_module.get(module, []))
        return next((line for line in found if line is not None), None)

    def identities(self, module: str) -> Set[Any]:
        return {tap.candidates[0].value for tap in self.side.by_module.get(module, [])}

    def run(self, modules: Sequence[str], inputs: Mapping[str, Any]) -> Values:
        def recorded(values: FoundValues) -> Dict[str, List[Recorded]]:
            return {module: [Recorded.of(module, found[0].array, found[0].real.value) for _, found in outputs
                             if found[0].array is not None] for module, outputs in values.items()}
        outputs, given = self.side.run(modules, inputs)
        return Values(recorded(outputs), recorded(given))


Side = Union[Reference, OnnxReference]


@contextlib.contextmanager
def live(model: Any, inputs: Any, kwargs: Optional[Mapping[str, Any]] = None, *, name: str = "model",
         modules: Sequence[str] = ()) -> Iterator[Reference]:
    """A PyTorch model as A: runs it once and keeps what its modules give, in a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.ref")
        record_reference(model, inputs, path, kwargs=kwargs, modules=modules, tensors=["**", ""], max_size=4 * MAX_SIZE)
        reference = Reference(path)
        reference.name = name
        yield reference


# ------------------------------------------------------------ pairs
def _merged(shape: Sequence[int]) -> List[int]:
    return [size for size in shape if size != 1]


def same_order(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether both shapes have the same values in the same order: equal, or neighbouring dimensions merged."""
    if 0 in a or 0 in b:
        return 0 in a and 0 in b
    fine, coarse = sorted((_merged(a), _merged(b)), key=len, reverse=True)
    at = 0
    for size in coarse:
        product = 1
        while at < len(fine) and product < size:
            product *= fine[at]
            at += 1
        if product != size:
            return False
    return at == len(fine)


class Pair(NamedTuple):
    """An output of A and the values of B that may be compared with it."""
    recorded: Recorded
    tap: Tap
    candidates: List[Found]


def _fitting(recorded: Recorded, candidates: Sequence[Found]) -> List[Found]:
    """Integers are compared with integers only."""
    return [found for found in candidates
            if found.array is not None and same_order(recorded.shape, found.array.shape)
            and (recorded.kind in "fc") == (found.array.dtype.kind in "fc")]


def _pairs(outputs: Sequence[Recorded], values: Sequence[Tuple[Tap, List[Found]]]) -> List[Pair]:
    """Outputs that correspond: of one name, else in order and of one shape. Nothing where no shape fits."""
    pairs: List[Pair] = []
    left, free = list(outputs), sorted(values, key=lambda value: value[0].node)
    for recorded in outputs:
        for tap, candidates in free:
            # All of them: a quantizer that took the place of a Relu gives its name to what the Relu read.
            named = recorded.value is not None and any(found.real.value == recorded.value for found in candidates)
            found = _fitting(recorded, candidates) if named else []
            if found:
                pairs.append(Pair(recorded, tap, found))
                left = [other for other in left if other is not recorded]
                free = [value for value in free if value[0] is not tap]
                break
    while left:
        alike = [recorded for recorded in left if recorded.shape == left[0].shape and recorded.kind == left[0].kind]
        fits = [(tap, found) for tap, candidates in free for found in [_fitting(alike[0], candidates)] if found]
        # What a module makes last is its result; the rest are steps on the way.
        for recorded, (tap, found) in zip(alike, fits[-len(alike):]):
            pairs.append(Pair(recorded, tap, found))
            free = [value for value in free if value[0] is not tap]
        left = [recorded for recorded in left if not any(recorded is other for other in alike)]
    return pairs


class Measured(NamedTuple):
    """A pair that was measured."""
    tap: Tap
    found: Found
    errors: Errors


def _measured(pair: Pair) -> Measured:
    """With the candidate that fits best."""
    best: Optional[Measured] = None
    for found in pair.candidates:
        errors = Errors()
        if pair.recorded.tensor is not None:
            errors.add(pair.recorded.tensor, found.array)
        else:
            errors.add_sampled(pair.recorded.sample, pair.recorded.counts, found.array)
        if best is None or errors.sqnr > best.errors.sqnr:
            best = Measured(pair.tap, found, errors)
    assert best is not None
    return best


def _folded(a: Side, b: OnnxSide, module: str) -> List[str]:
    """Modules behind this one that B has no nodes of: a normalization, an activation that was merged into it."""
    chain: List[str] = []
    at = module
    while True:
        readers = [reader for reader in a.readers(at) if reader != module and reader not in chain]
        if not readers or any(b.graph.computes(reader) for reader in readers):
            return chain
        at = max(readers, key=lambda reader: (reader.count("."), len(reader)))
        chain.append(at)


# ------------------------------------------------------------ the comparison
def compare(a: Union[Side, OnnxSide], b: OnnxSide, inputs: Mapping[str, Any], *, modules: Sequence[str] = (),
            tolerance: Optional[Tolerance] = None, batch: int = 32, most: int = 5, select: bool = False) -> Comparison:
    """Measures each module that both sides have, `batch` modules at a time; names the `most` worst ones."""
    if isinstance(a, OnnxSide):
        a = OnnxReference(a)
    of_a, of_b = a.classes(), b.classes()
    chosen = matcher(modules or ["**", ""])
    common = [path for path in of_b if path in of_a and chosen(path)]
    if not common:
        raise CompareError(f"{a.name} and {b.name} have no module in common"
                           + (f" that fits {' '.join(modules)}" if modules else ""))
    rows: List[Row] = []
    shapes, not_real, not_found, no_numbers = [], [], [], []
    not_finite: List[str] = []                              # in both versions
    given: Dict[str, Measured] = {}                         # by value of B: what code between modules makes
    between: Dict[str, Dict[str, Any]] = {}                 # the same: by value of A, what B has there
    halves = kept = 0
    for start in range(0, len(common), batch):
        part = common[start:start + batch]
        chains = {path: _folded(a, b, path) for path in part}
        out_a = a.run(list(dict.fromkeys([*part, *(other for chain in chains.values() for other in chain)])), inputs)
        out_b, given_b = b.run(part, inputs)
        for path in part:
            row, halves_here = _row(path, of_b[path], chains[path], out_a.outputs, out_b.get(path, []), b)
            halves += halves_here
            for pair in _certain_pairs(out_a.given.get(path, []), given_b.get(path, [])):
                measured = _measured(pair)
                given[measured.found.real.value] = measured
                if pair.recorded.value and pair.recorded.kind == "f":
                    between[measured.found.real.value] = {pair.recorded.value: _given(pair, measured, b)}
            if row is not None and not row.errors.compared:
                no_numbers.append(path)
                not_finite += [path] if row.errors.not_finite_a else []
            elif row is not None and _is_of_part(row, a, b):
                not_found.append(path)
            elif row is not None:
                kept += sum(array.nbytes for array in row.given.values())
                found = (b.graph.line_of(value) for value in row.values)
                row.line = next((line for line in found if line is not None), None) or a.line(path)
                rows.append(row)
            elif any(found.array is None for _, candidates in out_b.get(path, []) for found in candidates):
                not_real.append(path)
            elif out_a.outputs.get(path) and out_b.get(path):
                shapes.append(path)
    if not rows and no_numbers:
        first = next(filter(None, not_finite), "the model")
        why = f"{first} has NaN or Inf in both" if not_finite else "they are empty"
        raise CompareError(f"{a.name} and {b.name}: nothing was compared, because no value of {len(no_numbers)} "
                           f"common modules is a number in both: {why}\n  give other inputs")
    if not rows and not shapes:
        raise CompareError(f"{a.name} and {b.name}: none of {len(common)} common modules has a value in both")
    precision = {8: EIGHT_BITS, 4: FOUR_BITS}.get(b.graph.bits or 0, HALF if 2 * halves > len(rows) else FLOAT)
    wanted = (tolerance or Tolerance()).or_usual(precision)
    _attribute(rows, given, b, precision)
    for row in rows:
        bad = [place for place, part in row.parts if not wanted.holds(part)]
        row.within = (wanted.holds(row.errors) and not bad
                      and (wanted.max_lost is None or row.lost <= wanted.max_lost))
        row.place = min(bad) if bad else max(place for place, _ in row.parts)
    _find_own_code(rows, given, b, wanted)
    rows.sort(key=lambda row: row.order)
    # A module that holds others loses what they lose: the deepest ones are named.
    lossy = [row for row in rows if not row.within or row.lost > 3]
    deepest = [row for row in lossy if not any(other.module.startswith(row.module + ".") or (not row.module and other
               is not row) for other in lossy)]
    worst = sorted((row for row in deepest if row.lost > 0), key=SORTS["lost"])[:most]
    kept += sum(array.nbytes for values in between.values() for array in values.values())
    if isinstance(a, OnnxReference) and kept <= MAX_SIZE and (worst or select):
        ends = _steps(rows, given, between, b)
        steps = contributions(a.side, inputs, [values for _, values in ends], most)
        worst = list({id(ends[at][0]): ends[at][0] for at, _ in steps}.values()) or worst
    only_a = [path for path in of_a if path not in of_b and path and chosen(path)]
    only_b = [path for path in of_b if path not in of_a and path and chosen(path)]
    return Comparison(a.name, b.name, rows, only_a, only_b, shapes, not_real, not_found, no_numbers, precision,
                      wanted, *b.sure(), worst)


def _row(path: str, cls: Optional[str], chain: Sequence[str], out_a: Mapping[str, List[Recorded]],
         values: Sequence[Tuple[Tap, List[Found]]], b: OnnxSide) -> Tuple[Optional[Row], int]:
    """The row of a module, and whether B has it in half precision."""
    best: Optional[Tuple[Errors, List[Measured], List[str]]] = None
    given: Dict[str, Any] = {}
    # B may have merged the modules behind this one into it: what fits best says how many.
    for depth, other in enumerate([path, *chain]):
        pairs = _pairs(out_a.get(other, []), values)
        if pairs:
            parts, errors = [_measured(pair) for pair in pairs], Errors()
            for part in parts:
                errors.merge(part.errors)
            if best is None or errors.sqnr > best[0].sqnr:
                best = errors, parts, list(chain[:depth])
                given = {pair.recorded.value: _given(pair, part, b) for pair, part in zip(pairs, parts)
                         if pair.recorded.value and pair.recorded.kind == "f"}
    if best is None:
        return None, 0
    errors, parts, folded = best
    levels = [part.tap.confidence for part in parts if part.tap.confidence is not None]
    confidence = min(levels, key=lambda level: ("low", "medium", "high", "certain").index(level)) if levels else None
    half = any(str(part.found.array.dtype) == "float16" for part in parts if part.found.array is not None)
    return Row(path, cls, errors, [(part.tap.node, part.errors) for part in parts],
               [part.found.real.value for part in parts], folded, confidence, given=given), int(half)


def _given(pair: Pair, measured: Measured, b: OnnxSide) -> Any:
    """The value of B for A: before it is rounded, as its readers ask for that. An output of the model is rounded."""
    import numpy as np
    found = next((found for found in pair.candidates if found.real.value in b.signature[1]), measured.found)
    array, recorded = found.array, pair.recorded
    exact = next((other.array for other in pair.candidates if not b.graph.rounds(other.real.value)), None)
    assert array is not None and recorded.tensor is not None
    if found is measured.found and exact is not None and b.graph.rounds(found.real.value):
        array = np.clip(exact, array.min(), array.max())    # a quantizer may stand for an activation
    return array.reshape(recorded.shape).astype(recorded.tensor.dtype)


def _is_of_part(row: Row, a: Side, b: OnnxSide) -> bool:
    """Whether B has only the value of a part of the module, and A says that the module does more than its part."""
    own = a.identities(row.module)
    for value in row.values:
        for part in b.modules_with.get(value, []):
            if part != row.module and is_under(part, row.module) and a.identities(part):
                reached = a.identities(part).union(*(a.identities(other) for other in _folded(a, b, part)))
                if not own & reached:
                    return True
    return False


def _certain_pairs(given: Sequence[Recorded], values: Sequence[Tuple[Tap, List[Found]]]) -> List[Pair]:
    """What a module was given beside what it is given in B, where there is no choice."""
    pairs = _pairs(given, values)
    return pairs if all(sum(bool(_fitting(pair.recorded, found)) for _, found in values) == 1 for pair in pairs) else []


def _find_own_code(rows: Sequence[Row], given: Mapping[str, Measured], b: OnnxSide, tolerance: Tolerance) -> None:
    """Where a module's own code leaves the tolerance before its last part does."""
    by_module = {row.module: row for row in rows}
    for value, (tap, _, errors) in given.items():
        node = b.graph.producer.get(value)
        owner = by_module.get(node.module) if node is not None and node.module is not None else None
        if owner is not None and not owner.within and not tolerance.holds(errors):
            owner.place = min(owner.place, tap.node)


def _steps(rows: Sequence[Row], given: Mapping[str, Measured], between: Mapping[str, Dict[str, Any]], b: OnnxSide
           ) -> List[Tuple[Row, Dict[str, Any]]]:
    """The values of B that modules give, and those that the own code of modules makes between them: in order."""
    steps = [(max(place for place, _ in row.parts), 1, row.order, row, row.given) for row in rows if row.given]
    known = {name for row in rows for name in row.given}
    by_module = {row.module: row for row in rows}
    for value, values in between.items():
        node = b.graph.producer.get(value)
        owner = by_module.get(node.module) if node is not None and node.module is not None else None
        if owner is not None and not known & values.keys():
            steps.append((given[value].tap.node, 0, owner.order, owner, values))
    return [(row, values) for _, _, _, row, values in sorted(steps, key=lambda step: step[:3])]


def _attribute(rows: Sequence[Row], given: Mapping[str, Measured], b: OnnxSide, precision: Precision) -> None:
    """What each module adds to the error that it is given."""
    relative = {value: measured.errors.relative for value, measured in given.items()}
    noise = {value: measured.errors.noise for value, measured in given.items()}
    for row in rows:
        for value, (_, errors) in zip(row.values, row.parts):
            relative[value] = max(relative.get(value, 0.0), errors.relative)
            noise[value] = max(noise.get(value, 0.0), errors.noise)
    relative, noise = b.graph.spread(relative), b.graph.spread(noise)
    for row in rows:
        read = b.graph.inputs_of(row.module)
        before = max((relative.get(value, 0.0) for value in read), default=0.0)
        # Where the inputs are already beyond measure, nothing can be said of the module itself.
        row.added = max(0.0, row.errors.relative - before) if math.isfinite(before) else 0.0
        floor = max(max((noise.get(value, 0.0) for value in read), default=0.0), 10 ** (-precision.usual / 10))
        row.lost = max(0.0, 10 * math.log10(row.errors.noise / floor)) if row.errors.noise > 0 else 0.0


# ------------------------------------------------------------ the command line
DESCRIPTION = """Compares two versions of a model, module by module, on the same inputs.
A is a reference (see: python -m onnx_tag reference --help), an ONNX file, or MODULE:FUNCTION for a PyTorch model;
B is an ONNX file, or what another engine computed for the outputs of a model of onnx-tag tap.
Quantized values are compared as the real numbers that they stand for."""
EXAMPLES = """examples:
  python -m onnx_tag compare run.ref model.int8.onnx
  python -m onnx_tag compare run.ref model.int8.onnx --min-sqnr 25
  python -m onnx_tag compare model.onnx model.int8.onnx --inputs x.npz
  python -m onnx_tag compare my_models:tiny_bert model.onnx --inputs x.npz
  python -m onnx_tag compare export.py:make model.onnx
  python -m onnx_tag compare model.onnx model.fp16.onnx --inputs x.npz --select worst:5 --for npi
  python -m onnx_tag compare model.onnx values.npz --model tapped.onnx --inputs x.npz
  python -m onnx_tag compare model.onnx model.fp16.onnx --inputs x.npz --rtol 1e-2 --json > diff.json

A module is out of tolerance if it breaks one of the conditions given. Default: --rtol 1e-3 --atol 1e-5 for float32,
--min-sqnr 30 --max-lost 20 for float16, 15 and 12 for 8 bits, 8 and 12 for 4 bits. NaN or Inf in one version only is
always out.

exit codes: 0 all modules are within the tolerance; 1 some are not; 2 wrong usage, or nothing to compare;
3 a file cannot be read or run; 4 a file could not be written
"""


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _number(text: str) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(float(text)):
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number")


def _tolerance(text: str) -> float:
    if _number(text) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return float(text)


def _worst(text: str) -> int:
    if not text.startswith("worst:"):
        raise argparse.ArgumentTypeError(f"{text!r} is not worst:N")
    return _positive(text[len("worst:"):])


def add_parser(commands: Any, formatter: Any) -> None:
    """The command line of `compare`."""
    parser = commands.add_parser("compare", help="find the module where two versions begin to differ",
                                 description=DESCRIPTION, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("a", metavar="A", help="a reference, an ONNX file, or MODULE:FUNCTION as for record")
    parser.add_argument("b", metavar="B", help="an ONNX file; with --model, values: .npz, a Polygraphy JSON, or a "
                        "folder of .npy or raw files")
    parser.add_argument("--model", metavar="TAPPED", help="the model of onnx-tag tap whose outputs are in B")
    parser.add_argument("--select", metavar="worst:N", type=_worst,
                        help="print the nodes of A in the N modules that lose most, for the tool of --for")
    parser.add_argument("--for", dest="tool", metavar="TOOL",
                        help="a tool of onnx-tag select: npi, fp16, autocast, ...")
    parser.add_argument("--inputs", metavar="X.npz",
                        help="arrays by input name; default: from the reference or the function")
    parser.add_argument("--module", metavar="GLOB", action="append", default=[],
                        help="compare these modules only; * is within a name, ** crosses dots")
    parser.add_argument("--rtol", type=_tolerance, help="largest error, of the largest value of a module")
    parser.add_argument("--atol", type=_tolerance, help="added to it; default 1e-5")
    parser.add_argument("--min-sqnr", type=_number, metavar="DB", help="signal to noise ratio of every module")
    parser.add_argument("--min-cosine", type=_number, metavar="X", help="cosine of A and B, of every module")
    parser.add_argument("--max-lost", type=_number, metavar="DB", help="the loss in a module itself that is accepted")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if the result rests on guessed tags")
    parser.add_argument("--batch", type=_positive, default=32, metavar="N",
                        help="modules looked into at a time; default 32")
    parser.add_argument("--optimize", action="store_true", help="let ONNX Runtime optimize, as it would in use")
    parser.add_argument("--all", action="store_true", help="list the modules within the tolerance, too")
    parser.add_argument("--sort", choices=sorted(SORTS), default="lost",
                        help="sort key of the rows; default: lost, the decibels that a module itself loses")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--tsv", metavar="FILE",
                        help="write the errors of each value, for onnx-tag profile and onnx-tag report --profile")
    parser.add_argument("--force", action="store_true", help="replace an existing FILE of any kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--tag-options", metavar="WORDS", default="",
                        help="options for onnx-tag, such as '--hierarchy recording.json'")


def for_model(given: Mapping[str, Any], side: OnnxSide) -> Dict[str, Any]:
    """Inputs of a PyTorch model for the ONNX file: by name, or in order where the exporter chose other names."""
    names = side.signature[0]
    if all(name in given for name in names):
        return dict(given)
    if len(names) == len(given):
        return dict(zip(names, given.values()))
    missing = [name for name in names if name not in given]
    raise InputError(f"{side.name}: needs the input {missing[0]!r}; there are: {', '.join(given)}")


def model_inputs(model: Any, arrays: Mapping[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """Arrays as arguments of a model: by name where forward has all names, else in order."""
    import inspect

    import torch
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    known = inspect.signature(model.forward).parameters
    return ((), tensors) if all(name in known for name in tensors) else (tuple(tensors.values()), {})


def _same_inputs(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    import numpy as np
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def run(options: Any) -> int:
    """What `python -m onnx_tag compare` does; returns the exit code."""
    import shlex
    try:
        words = shlex.split(options.tag_options)
    except ValueError as error:
        raise CompareError(f"--tag-options: {error}") from None
    files = Inputs()
    files.add_model(options.a, "A")
    if options.model:
        files.add(options.b, "B")
        files.add_model(options.model, "--model")
    else:
        files.add_model(options.b, "B")
    files.add(options.inputs, "--inputs")
    if are_values(options.b) != (options.model is not None):
        raise CompareError("values as B need --model TAPPED, the model of onnx-tag tap that the engine ran"
                           if options.model is None else f"--model is for values as B, and {options.b} is none")
    if (options.select is None) != (options.tool is None):
        raise CompareError("--select worst:N and --for TOOL go together")
    for path in words:
        files.add(path, "--tag-options")
    files.refuse_standard_output()
    if options.tsv:
        judge(options.tsv, files, TABLE_HEAD.encode(), options.force)
    given = read_npz(options.inputs) if options.inputs else None
    tolerance = Tolerance(options.rtol, options.atol, options.min_sqnr, options.min_cosine, options.max_lost)
    with contextlib.ExitStack() as stack:
        a: Union[Side, OnnxSide]
        if is_reference(options.a):
            a = Reference(options.a)
            if given is not None and not _same_inputs(given, a.inputs):
                raise CompareError(f"{options.a}: has inputs of its own, and --inputs has others")
        elif os.path.exists(options.a) or ":" not in options.a:
            if given is None:
                raise CompareError(f"{options.a} and {options.b} need --inputs X.npz: "
                                   + (f"{options.a} is not a reference" if os.path.exists(options.a)
                                      else f"there is no file {options.a}"))
            a = OnnxSide(options.a, words, options.optimize)
        else:
            a = stack.enter_context(_live(options.a, given, options.module))
            files.add(source_file(options.a), "A")
        hierarchy = a.hierarchy if isinstance(a, Reference) else None
        b = (EngineSide(options.model, options.b, words, hierarchy) if options.model
             else OnnxSide(options.b, words, options.optimize, hierarchy))
        inputs = for_model(a.inputs, b) if isinstance(a, Reference) else given or {}
        found = compare(a, b, inputs, modules=options.module, tolerance=tolerance, batch=options.batch,
                        most=options.select or 5, select=options.select is not None)
    if options.select is not None:
        return _select(found, a, b, options.tool, words)
    return _tell(found, options, files)


# These tools get the nodes that they must leave alone.
_LEAVES_ALONE = ("ort-quant", "olive", "modelopt", "nncf", "neural-compressor", "fp16", "autocast", "quark")


def _overflowing(found: Comparison, a: OnnxSide) -> List[str]:
    """Modules with values that float16 cannot hold, and those that read them: B has NaN or Inf behind the first."""
    if not any(row.errors.not_finite_b > row.errors.not_finite_a for row in found.rows):
        return []
    readers = OnnxReference(a).readers
    large = [row.module for row in found.rows if row.errors.largest_a > MOST_HALF]
    return [*large, *(reader for module in large for reader in readers(module))]


def _quoted(words: Iterable[str]) -> str:
    """Values of a query."""
    return ", ".join("'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'" for word in words)


def _select(found: Comparison, a: Any, b: OnnxSide, tool: str, words: Sequence[str]) -> int:
    """Prints what must stay in a higher precision, by the names of A."""
    if not isinstance(a, OnnxSide):
        raise CompareError("--select prints names of A, so A must be an ONNX file")
    model, modules = a.name, list(dict.fromkeys([*(row.module for row in found.worst), *_overflowing(found, a)]))
    if not modules:
        print("onnx_tag: no module loses more than its inputs did", file=sys.stderr)
        return 1
    # A static quantizer rounds a result where it is made: what the modules read must be exact, too.
    rounds = any(node.op == "QuantizeLinear" for node in b.graph.nodes)
    made = (node for module in modules if rounds for node in a.graph.makers_of(module))
    makers = dict.fromkeys(node.name for node in made if node.name)
    # Of a module that holds others, its own code.
    holds = [module for module in modules
             if any(row.module != module and is_under(row.module, module) for row in found.rows)]
    parts = {"under": [module for module in modules if module not in holds], "module": holds, "name": list(makers)}
    query = " or ".join(f"{field} in ({_quoted(names)})" for field, names in parts.items() if names)
    answer = program.run(["select", model, query, "--for", tool, "--skip-unaddressable",
                          *(["--exclude"] if tool in _LEAVES_ALONE else []), *words])
    print("onnx_tag: stay in a higher precision: " + printable(", ".join(modules)), file=sys.stderr)
    print(answer.err, end="", file=sys.stderr)
    print(answer.out, end="")
    return answer.code


@contextlib.contextmanager
def _live(source: str, given: Optional[Mapping[str, Any]], modules: Sequence[str]) -> Iterator[Reference]:
    model, args, kwargs = call(source)
    if given is not None:
        args, kwargs = model_inputs(model, given)
    elif args is None:
        raise CompareError(f"{source} returns no inputs: give them with --inputs, or return (model, inputs)")
    with live(model, args, kwargs, name=source, modules=modules) as side:
        yield side


def _tell(found: Comparison, options: Any, files: Inputs) -> int:
    if found.weak or found.guessed:
        guessed = f"{len(found.guessed)} of {len(found.rows)} modules rest on guessed tags" if found.guessed else ""
        sure = f"{found.sure} of {found.nodes} nodes of {found.b} have tags of medium or better" if found.weak else ""
        if found.lacks_many:
            sure += f", and {len(found.only_a)} modules of A have none"
        first = found.a if found.a.endswith(".onnx") else "FLOAT.onnx"
        what = printable(", ".join(filter(None, (sure, guessed))))
        command = printable(f"onnx-tag transfer {first} {found.b} -o TAGGED.onnx")
        print(f"onnx_tag: warning: {what}\n  carry tags over from the float model first: {command}", file=sys.stderr)
    if options.strict and found.guessed:
        print("onnx_tag: --strict: the result rests on guessed tags", file=sys.stderr)
        return 1
    if options.tsv:
        write(options.tsv, found.to_table().encode("utf-8", "surrogateescape"), files, TABLE_HEAD.encode(),
              options.force)
    if options.json:
        print(odd_bytes.dumps(found.to_json()))
    else:
        color = options.color == "always" or (options.color == "auto" and sys.stdout.isatty()
                                              and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")
        print(found.to_text(options.all, options.sort, color), end="")
    return 0 if found.equal else 1


__all__ = ["CompareError", "Comparison", "OnnxSide", "Tolerance", "compare", "live"]
