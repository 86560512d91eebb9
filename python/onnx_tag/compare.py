"""Where two versions of a model begin to differ, module by module.

Both versions run on the same inputs. `onnx-tag tap` makes the outputs of modules visible in an ONNX file, some modules
at a time, so that memory stays bounded; forward hooks do the same in PyTorch. Needs numpy and onnxruntime, and torch
for a PyTorch model.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import program
from .arrays import read_npz
from .errors import InputError, TagsError
from .measures import Errors
from .outputs import Inputs, judge, write
from .user_function import call

if TYPE_CHECKING:
    import numpy as np
    from torch import nn

Arrays = Dict[str, List["np.ndarray[Any, Any]"]]            # by module: its outputs, in order


class CompareError(TagsError):
    """The two versions cannot be compared; the text says why."""


@dataclass
class Tap:
    """One output of a module in an ONNX file."""
    module: str
    cls: Optional[str]
    output: str
    value: str
    node: int                                               # place of the node that makes it


@dataclass
class Row:
    """What is known of one module: its outputs in A and in B."""
    module: str
    cls: Optional[str]
    order: Tuple[int, int]
    errors: Errors = field(default_factory=Errors)
    added: float = 0.0                                      # relative error that its inputs do not have

    @property
    def within(self) -> bool:
        return self.errors.within


@dataclass
class Comparison:
    """The outcome; rows are in the order in which modules run."""
    a: str
    b: str
    rows: List[Row]
    only_a: List[str]
    only_b: List[str]
    shapes: List[str]                                       # modules whose outputs have other shapes
    rtol: float
    atol: float
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

    def to_json(self) -> Dict[str, Any]:
        def number(value: float) -> Any:
            return value if math.isfinite(value) else None
        first, not_finite = self.first, self.first_not_finite
        return {
            "a": self.a, "b": self.b, "rtol": self.rtol, "atol": self.atol, "equal": self.equal,
            "first": first.module if first else None,
            "first_not_finite": not_finite.module if not_finite else None,
            "worst": [row.module for row in self.worst],
            "modules": [{"module": row.module, "class": row.cls, "max": number(row.errors.max),
                         "mean": number(row.errors.mean), "relative": number(row.errors.relative),
                         "sqnr_db": number(row.errors.sqnr), "not_finite_a": row.errors.not_finite_a,
                         "not_finite_b": row.errors.not_finite_b, "unlike": row.errors.unlike,
                         "added": number(row.added), "within": row.within}
                        for row in self.rows],
            "only_a": self.only_a, "only_b": self.only_b, "other_shapes": self.shapes,
        }

    def to_text(self, all_rows: bool = False) -> str:
        lines = [f"A  {self.a}", f"B  {self.b}", ""]
        shown = self.rows if all_rows else [row for row in self.rows if not row.within]
        if shown:
            lines.append(f"{'max':>10} {'mean':>10} {'SQNR dB':>8} {'added':>9}  module")
            lines += [_line(row) for row in shown]
            lines.append("")
        lines.append(f"{len(self.rows)} modules compared, {sum(not row.within for row in self.rows)} out of tolerance "
                     f"(rtol {self.rtol:g}, atol {self.atol:g})")
        for title, modules in (("only in A", self.only_a), ("only in B", self.only_b),
                               ("with other shapes", self.shapes)):
            if modules:
                lines.append(f"{len(modules)} {title}: {', '.join(modules[:5])}{', ...' if len(modules) > 5 else ''}")
        if self.first is not None:
            lines.append(f"first out of tolerance: {_named(self.first)}")
            lines.append("adds most: " + ", ".join(_named(row) for row in self.worst))
        if self.first_not_finite is not None:
            row, errors = self.first_not_finite, self.first_not_finite.errors
            lines.append(f"first NaN or Inf: {_named(row)} ({errors.not_finite_a} in A, {errors.not_finite_b} in B)")
        return "\n".join(lines) + "\n"


def _named(row: Row) -> str:
    return f"{row.module or '<root>'} ({row.cls})" if row.cls else row.module or "<root>"


def _line(row: Row) -> str:
    errors = row.errors
    bad = f"  {errors.not_finite_b} NaN or Inf" if errors.not_finite_b else ""
    return f"{errors.max:10.3g} {errors.mean:10.3g} {errors.sqnr:8.1f} {row.added:9.2g}  {_named(row)}{bad}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _session(name: str, path: str, options: Any) -> Any:
    import onnxruntime as ort
    try:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise InputError(f"{name}: ONNX Runtime could not load it: {_first_line(error)}") from None


class OnnxSide:
    """An ONNX file whose modules can be looked into."""

    def __init__(self, path: str, words: Sequence[str] = (), optimize: bool = False) -> None:
        self.name = path
        self._words = list(words)
        self._optimize = optimize
        self.taps = self._list([])
        inputs = self._list(["--inputs"])
        self.inputs: Dict[str, List[str]] = {}              # by module: values that go in
        for tap in inputs:
            self.inputs.setdefault(tap.module, []).append(tap.value)

    def _list(self, more: Sequence[str]) -> List[Tap]:
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "tapped.onnx")
            answer = program.run(["tap", self.name, "--module", "", "**", *more, "-o", output, "--data", "keep",
                                  "--dry-run", "--json", *self._words])
        if answer.code != 0:
            return []
        return [Tap(tap["module"], tap["class"], tap["output"], tap["value"],
                    -1 if tap["node"] is None else tap["node"]) for tap in json.loads(answer.out)["taps"]]

    def modules(self) -> Dict[str, Tap]:
        result: Dict[str, Tap] = {}
        for tap in self.taps:
            result.setdefault(tap.module, tap)
        return result

    def run(self, modules: Sequence[str], inputs: Mapping[str, Any]) -> Arrays:
        import numpy as np
        import onnxruntime as ort
        wanted = [tap for tap in self.taps if tap.module in set(modules)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tapped.onnx")
            program.run(["tap", self.name, "--module", *modules, "-o", path, "--data", "link", "-q", *self._words],
                        allow_findings=False)
            options = ort.SessionOptions()
            options.log_severity_level = 3
            if not self._optimize:
                options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            session = _session(self.name, path, options)
        feed = {}
        for value in session.get_inputs():
            if value.name not in inputs:
                raise CompareError(f"{self.name}: needs the input {value.name!r}; there are: {', '.join(inputs)}")
            array = np.asarray(inputs[value.name])
            kind = {"tensor(float16)": np.float16, "tensor(float)": np.float32, "tensor(double)": np.float64,
                    "tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(value.type)
            feed[value.name] = array.astype(kind) if kind is not None and array.dtype != kind else array
        # Outputs that the model had keep their names; the program may have told new ones apart.
        known = {output.name for output in session.get_outputs()}
        names = list(dict.fromkeys(tap.output for tap in wanted if tap.output in known))
        try:
            found = dict(zip(names, session.run(names, feed)))
        except Exception as error:                          # ONNX Runtime raises a dozen kinds
            raise InputError(f"{self.name}: ONNX Runtime could not run it on these inputs: {_first_line(error)}"
                             ) from None
        result: Arrays = {}
        for tap in wanted:
            if tap.output in found and isinstance(found[tap.output], np.ndarray):
                result.setdefault(tap.module, []).append(found[tap.output])
        return result


class TorchSide:
    """A PyTorch model; forward hooks look into its modules."""

    def __init__(self, name: str, model: "nn.Module", args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.name = name
        self._model = model.eval()
        self._args = tuple(args)
        self._kwargs = dict(kwargs)
        self._paths = dict(model.named_modules())

    def modules(self) -> Dict[str, Optional[str]]:
        return {path: type(module).__name__ for path, module in self._paths.items()}

    def run(self, modules: Sequence[str], inputs: Mapping[str, Any]) -> Arrays:
        import torch

        from .recorder import tensors_in
        result: Arrays = {}
        hooks = []

        def remember(path: str) -> Any:
            def hook(module: Any, args: Any, output: Any) -> None:
                result.setdefault(path, []).extend(
                    tensor.detach().to(torch.float32).numpy().copy() if tensor.dtype == torch.bfloat16
                    else tensor.detach().numpy().copy() for tensor in tensors_in(output))
            return hook
        try:
            for path in modules:
                hooks.append(self._paths[path].register_forward_hook(remember(path)))
            with torch.no_grad():
                self._model(*self._args, **self._kwargs)
        finally:
            for hook in hooks:
                hook.remove()
        return result


def _batches(items: Sequence[str], size: int) -> Iterator[List[str]]:
    for start in range(0, len(items), size):
        yield list(items[start:start + size])


def _same_shape(a: Any, b: Any) -> bool:
    return [d for d in a.shape if d != 1] == [d for d in b.shape if d != 1]


def _pairs(a: Sequence[Any], b: Sequence[Any]) -> List[Tuple[Any, Any]]:
    """Outputs that correspond: in order, of one shape. Nothing where no shape fits."""
    pairs, at = [], 0
    for one in a:
        for place in range(at, len(b)):
            if _same_shape(one, b[place]):
                pairs.append((one, b[place]))
                at = place + 1
                break
    return pairs


def compare(a: Any, b: Any, inputs: Mapping[str, Any], *, modules: Sequence[str] = (), rtol: float = 1e-3,
            atol: float = 1e-5, batch: int = 32) -> Comparison:
    """Runs both sides, `batch` modules at a time, and measures each module that both have."""
    import fnmatch
    of_a, of_b = a.modules(), b.modules()
    # B is always an ONNX file: its nodes say the order in which modules run.
    common = [path for path in of_b if path in of_a
              and (not modules or any(fnmatch.fnmatchcase(path, pattern) for pattern in modules))]
    if not common:
        raise CompareError(f"{a.name} and {b.name} have no module in common"
                           + (f" that fits {' '.join(modules)}" if modules else ""))
    last: Dict[str, int] = {}
    for tap in b.taps:
        last[tap.module] = max(last.get(tap.module, -1), tap.node)
    rows, shapes = [], []
    by_value: Dict[str, float] = {}                         # of B: relative error
    for chosen in _batches(common, batch):
        out_a, out_b = a.run(chosen, inputs), b.run(chosen, inputs)
        for path in chosen:
            if not out_a.get(path) or not out_b.get(path):
                continue
            pairs = _pairs(out_a[path], out_b[path])
            if not pairs:
                shapes.append(path)
                continue
            row = Row(path, of_b[path].cls, (last[path], -path.count(".") if path else 1))
            for one, other in pairs:
                row.errors.add(one, other, rtol, atol)
            rows.append(row)
    if not rows and not shapes:
        raise CompareError(f"{a.name} and {b.name}: none of {len(common)} common modules has a value in both")
    rows.sort(key=lambda row: row.order)
    for row in rows:
        for tap in b.taps:
            if tap.module == row.module:
                by_value[tap.value] = max(by_value.get(tap.value, 0.0), row.errors.relative)
    for row in rows:
        before = max((by_value.get(value, 0.0) for value in b.inputs.get(row.module, [])), default=0.0)
        # Where the inputs are already beyond measure, nothing can be said of the module itself.
        row.added = max(0.0, row.errors.relative - before) if math.isfinite(before) else 0.0
    # A module that holds others adds what they add: the deepest ones are named.
    parents = {row.module.rpartition(".")[0] for row in rows}
    leaves = [row for row in rows if not row.within and not any(
        other.module.startswith(row.module + ".") for other in rows if not other.within)] if parents else rows
    worst = sorted((row for row in leaves if row.added > 0), key=lambda row: -row.added)[:5]
    return Comparison(a.name, b.name, rows, [path for path in of_a if path not in of_b and path],
                      [path for path in of_b if path not in of_a and path], shapes, rtol, atol, worst)


DESCRIPTION = """Runs two versions of a model on the same inputs and compares their results, module by module.
A is an ONNX file, or MODULE:FUNCTION for a PyTorch model; B is an ONNX file."""
EXAMPLES = """examples:
  python -m onnx_tag compare model.onnx model.int8.onnx --inputs x.npz
  python -m onnx_tag compare my_models:tiny_bert model.onnx --inputs x.npz
  python -m onnx_tag compare export.py:make model.onnx
  python -m onnx_tag compare model.onnx model.fp16.onnx --inputs x.npz --rtol 1e-2 --json > diff.json

exit codes: 0 all modules are within the tolerance; 1 some are not; 2 wrong usage, or nothing to compare;
3 a file cannot be read or run; 4 a file could not be written
"""


TSV_HEAD = "value\trelative_error\n"


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _tolerance(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")


def add_parser(commands: Any, formatter: Any) -> None:
    """The command line of `compare`."""
    parser = commands.add_parser("compare", help="find the module where two versions begin to differ",
                                 description=DESCRIPTION, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("a", metavar="A", help="an ONNX file, or MODULE:FUNCTION as for record")
    parser.add_argument("b", metavar="B", help="an ONNX file")
    parser.add_argument("--inputs", metavar="X.npz", help="arrays by input name; default: those of the function")
    parser.add_argument("--module", metavar="GLOB", action="append", default=[], help="compare these modules only")
    parser.add_argument("--rtol", type=_tolerance, default=1e-3, help="of the largest value of a module; default 1e-3")
    parser.add_argument("--atol", type=_tolerance, default=1e-5, help="default 1e-5")
    parser.add_argument("--batch", type=_positive, default=32, metavar="N",
                        help="modules looked into at a time; default 32")
    parser.add_argument("--optimize", action="store_true", help="let ONNX Runtime optimize, as it would in use")
    parser.add_argument("--all", action="store_true", help="list the modules within the tolerance, too")
    parser.add_argument("--tsv", metavar="FILE", help="write the relative error of each value, for onnx-tag profile")
    parser.add_argument("--force", action="store_true", help="replace an existing FILE of any kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--tag-options", metavar="WORDS", default="",
                        help="options for onnx-tag, such as '--hierarchy recording.json'")


def _torch_side(source: str, inputs: Optional[Dict[str, Any]], onnx_inputs: Sequence[str]
                ) -> Tuple[TorchSide, Dict[str, Any]]:
    import inspect

    import torch

    model, args, kwargs = call(source)
    if inputs is None:
        if args is None:
            raise CompareError(f"{source} returns no inputs: give them with --inputs, or return (model, inputs)")
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        inputs = {name: tensor.numpy() for name, tensor in zip(onnx_inputs, tensors)}
    else:
        named = {name: torch.from_numpy(array.copy()) for name, array in inputs.items()}
        known = inspect.signature(model.forward).parameters
        if all(name in known for name in named):
            args, kwargs = (), named
        else:
            args, kwargs = tuple(named[name] for name in onnx_inputs if name in named), {}
    return TorchSide(source, model, args or (), kwargs), inputs


def _onnx_inputs(path: str) -> List[str]:
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return [value.name for value in _session(path, path, options).get_inputs()]


def run(options: Any) -> int:
    """What `python -m onnx_tag compare` does; returns the exit code."""
    import shlex
    words = shlex.split(options.tag_options)
    files = Inputs()
    for path, what in ((options.a, "A"), (options.b, "B")):
        files.add_model(path, what)
    files.add(options.inputs, "--inputs")
    for path in words:
        files.add(path, "--tag-options")
    files.refuse_standard_output()
    if options.tsv:
        judge(options.tsv, files, TSV_HEAD.encode(), options.force)
    inputs = read_npz(options.inputs) if options.inputs else None
    b = OnnxSide(options.b, words, options.optimize)
    a: Any
    if os.path.exists(options.a):
        if inputs is None:
            raise CompareError("two ONNX files need --inputs X.npz")
        a = OnnxSide(options.a, words, options.optimize)
    else:
        a, inputs = _torch_side(options.a, inputs, _onnx_inputs(options.b))
    found = compare(a, b, inputs, modules=options.module, rtol=options.rtol, atol=options.atol, batch=options.batch)
    if options.tsv:
        errors = {row.module: row.errors.relative for row in found.rows}
        lines = [f"{tap.value}\t{errors[tap.module]:.9g}\n" for tap in b.taps
                 if math.isfinite(errors.get(tap.module, math.nan))]
        write(options.tsv, (TSV_HEAD + "".join(lines)).encode("utf-8", "surrogateescape"), files, TSV_HEAD.encode(),
              options.force)
    if options.json:
        print(json.dumps(found.to_json()))
    else:
        print(found.to_text(options.all), end="")
    return 0 if found.equal else 1
