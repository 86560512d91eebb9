"""An ONNX file whose modules are looked into: which values are their outputs, and what these are as real numbers.

A quantized file computes with integers. The output of a module is then one of

    x -> QuantizeLinear [-> DequantizeLinear]   x, or x rounded (and clipped, where that replaces an activation)
    MatMulInteger -> Cast -> Mul [-> Add]       the value behind the scale (and the bias)
    QLinearConv and its like -> q               q, dequantized with the scale that the node has
    Gather of a quantized table                 dequantized with the scale of the DequantizeLinear behind it

so that no integer is ever compared with a real number. Of several candidates the one that fits A best is taken: they
differ by a bias, by rounding or by clipping.
"""
from __future__ import annotations

import functools
import os
import tempfile
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from . import odd_bytes, program
from .errors import InputError
from .onnx_file import with_given, with_outputs
from .tags import CONFIDENCE, SourceLine

if TYPE_CHECKING:
    import numpy as np
    Array = np.ndarray[Any, Any]

_QUANTIZERS = ("QuantizeLinear", "DynamicQuantizeLinear")
_ACCUMULATORS = ("MatMulInteger", "ConvInteger")
# Where these operators have the scale of their result; the zero point is the next input.
_RESULT_SCALE = {"QLinearConv": 6, "QLinearMatMul": 6, "QLinearAdd": 6, "QLinearMul": 6, "QGemm": 7, "QLinearConcat": 0,
                 "QLinearSigmoid": 3, "QLinearLeakyRelu": 3, "QLinearSoftmax": 3, "QLinearGlobalAveragePool": 3,
                 "QLinearAveragePool": 3, "QLinearReduceMean": 3, "QLinearWhere": 7}
# They move values and do not change them: the scale stays. MaxPool and Clip choose among them.
_MOVERS = ("Reshape", "Transpose", "Gather", "Slice", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Split", "Expand",
           "Tile", "MaxPool", "Clip", "Relu", "Concat", "DepthToSpace", "SpaceToDepth", "Pad", "Resize",
           "GatherElements")
_HELPERS = {*_MOVERS, *_QUANTIZERS, "DequantizeLinear", "Cast", "Constant", "Shape"} - {
    "Relu", "Clip", "MaxPool", "Gather", "Concat", "Resize", "Pad"}
_EIGHT_BITS = (*_QUANTIZERS, *_ACCUMULATORS, "DequantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM",
               "MatMulIntegerToFloat", "QAttention", "QEmbedLayerNormalization")


class Node(NamedTuple):
    """A node of the main graph."""
    place: int
    op: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    module: Optional[str]
    confidence: Optional[str]
    line: Optional[SourceLine]                              # of the Python code that made it
    name: str = ""


class Real(NamedTuple):
    """A value, and the values that make it a real number."""
    value: str
    scale: Optional[str] = None
    zero: Optional[str] = None


@dataclass
class Tap:
    """One output of a module."""
    module: str
    cls: Optional[str]
    value: str
    node: int                                               # place of the node that makes it, or -1
    candidates: List[Real]                                  # what may be compared, the most likely first
    confidence: Optional[str]                               # of the tag of that node


class Graph:
    """The nodes of the main graph and the modules that they belong to."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        # A module that was found in the graph alone has an invented name: at best a guess at a name of A.
        self.nodes = [Node(row["index"], row["op"], tuple(row["inputs"]), tuple(row["outputs"]), row["module"],
                           "low" if row["source"] == "structure" else row["confidence"],
                           SourceLine.from_json(row["source_line"]) if row.get("source_line") else None, row["name"])
                      for row in document["nodes"] if row["graph"] == ""]
        self.producer = {value: node for node in self.nodes for value in node.outputs if value}
        self.readers: Dict[str, List[Node]] = {}
        for node in self.nodes:
            for value in node.inputs:
                self.readers.setdefault(value, []).append(node)

    @functools.cached_property
    def bits(self) -> Optional[int]:
        """How many bits quantized values have; None if there are none."""
        ops = {node.op for node in self.nodes}
        if "MatMulNBits" in ops or "GatherBlockQuantized" in ops:
            return 4
        return 8 if any(op in _EIGHT_BITS or op.startswith("QLinear") for op in ops) else None

    def candidates(self, value: str) -> List[Real]:
        """What a value is as real numbers, the most likely first. Nothing for a scale or a zero point."""
        node = self.producer.get(value)
        if node is None:
            return [Real(value)]
        if node.op in _QUANTIZERS:
            if value != node.outputs[0]:
                return []
            return self._rounded(node, node.inputs[0], Real(value, *self._parameters_of(node)))
        if node.op == "DequantizeLinear":
            inner = self.producer.get(node.inputs[0])
            if inner is not None and inner.op in _QUANTIZERS:
                return self._rounded(node, inner.inputs[0], Real(value))
            return [Real(value)]
        if self._is_accumulator(node):
            return self._behind(value) or [Real(value)]
        if node.op in _RESULT_SCALE:
            return [Real(value, *self._parameters_of(node))]
        if node.op in _MOVERS:
            known = self._quantized_before(value) or self._dequantized_after(value)
            if known is not None:
                return [Real(value, *known)]
        return [Real(value)]

    def _rounded(self, node: Node, before: str, after: Real) -> List[Real]:
        """A value before and after it is rounded. A quantizer may also clip, in place of an activation."""
        maker = self.producer.get(before)
        own = maker is not None and maker.module == node.module
        return [*self.candidates(before), after] if own else [after, *self.candidates(before)]

    def rounds(self, value: str) -> bool:
        """Whether a quantizer or what undoes it makes the value."""
        node = self.producer.get(value)
        return node is not None and node.op in (*_QUANTIZERS, "DequantizeLinear")

    def _is_accumulator(self, node: Node) -> bool:
        if node.op == "Cast" and node.inputs:
            node = self.producer.get(node.inputs[0], node)
        return node.op in _ACCUMULATORS

    @staticmethod
    def _parameters_of(node: Node) -> Tuple[Optional[str], Optional[str]]:
        """Scale and zero point of what a node makes."""
        if node.op == "DynamicQuantizeLinear":
            return node.outputs[1], node.outputs[2]
        at = _RESULT_SCALE.get(node.op, 1)
        given = [value or None for value in node.inputs[at:at + 2]]
        return given[0] if given else None, given[1] if len(given) > 1 else None

    def _quantized_before(self, value: str) -> Optional[Tuple[Optional[str], Optional[str]]]:
        node = self.producer.get(value)
        for _ in range(len(self.nodes)):
            if node is None or not node.inputs:
                return None
            if node.op in _QUANTIZERS or node.op in _RESULT_SCALE:
                return self._parameters_of(node)
            if node.op not in _MOVERS:
                return None
            node = self.producer.get(node.inputs[0])
        return None

    def _dequantized_after(self, value: str) -> Optional[Tuple[Optional[str], Optional[str]]]:
        pending, seen = [value], {value}
        while pending:
            for node in self.readers.get(pending.pop(), []):
                if node.op == "DequantizeLinear" and node.inputs[0] in seen:
                    return self._parameters_of(node)
                if node.op in _RESULT_SCALE:                # each operand has its scale and zero point behind it
                    for at in range(len(node.inputs) - 2):
                        if node.inputs[at] in seen:
                            return node.inputs[at + 1], node.inputs[at + 2] or None
                if node.op in _MOVERS and node.inputs[0] in seen and node.outputs[0] not in seen:
                    seen.add(node.outputs[0])
                    pending.append(node.outputs[0])
        return None

    def _behind(self, value: str) -> List[Real]:
        """The sums of an integer product as real numbers: with the bias, and without."""
        found: List[Real] = []
        while True:
            readers = self.readers.get(value, [])
            if not found and len(readers) == 1 and readers[0].op in ("Cast", "Mul"):
                if readers[0].op == "Mul":
                    found.append(Real(readers[0].outputs[0]))
            elif len(readers) == 1 and readers[0].op == "Add" and self._is_constant(
                    next((other for other in readers[0].inputs if other != value), "")):
                return [Real(readers[0].outputs[0]), *found]
            else:
                return found
            value = readers[0].outputs[0]

    def _is_constant(self, value: str) -> bool:
        node = self.producer.get(value)
        return node is None or all(other not in self.producer for other in node.inputs)

    def computes(self, module: str) -> bool:
        """Whether the module has nodes that do more than convert and move values."""
        return any(node.op not in _HELPERS for node in self.nodes_of.get(module, []))

    @functools.cached_property
    def nodes_of(self) -> Dict[str, List[Node]]:
        """By module: its nodes and those of its submodules."""
        result: Dict[str, List[Node]] = {}
        for node in self.nodes:
            if node.module is not None:
                atoms = node.module.split(".") if node.module else []
                for depth in range(len(atoms) + 1):
                    result.setdefault(".".join(atoms[:depth]), []).append(node)
        return result

    def inputs_of(self, module: str) -> Set[str]:
        """Values that the nodes of the module read and do not make."""
        inside = self.nodes_of.get(module, [])
        made = {value for node in inside for value in node.outputs}
        return {value for node in inside for value in node.inputs if value and value not in made}

    def makers_of(self, module: str) -> List[Node]:
        """The nodes that make what the module's own code reads, behind what only moves values."""
        found: Dict[int, Node] = {}
        own = (node for node in self.nodes_of.get(module, []) if node.module == module)
        for value in (value for node in own for value in node.inputs):
            node = self.producer.get(value)
            while node is not None and node.inputs and node.place not in found:
                found[node.place] = node
                node = self.producer.get(node.inputs[0]) if node.op in _HELPERS else None
        return [found[place] for place in sorted(found)]

    def line_of(self, value: str) -> Optional[SourceLine]:
        """The line of code that made a value; of what was converted or rounded, the line of the original."""
        for _ in range(len(self.nodes)):
            node = self.producer.get(value)
            if node is None or node.line is not None:
                return node.line if node is not None else None
            if node.op not in _QUANTIZERS and node.op not in ("DequantizeLinear", "Cast"):
                return None
            value = node.inputs[0]
        return None

    def spread(self, known: Mapping[str, float]) -> Dict[str, float]:
        """By value: its own number, or else the largest among the values that it is made of."""
        numbers = dict(known)
        for node in self.nodes:
            largest = max((numbers.get(value, 0.0) for value in node.inputs), default=0.0)
            for value in node.outputs:
                numbers.setdefault(value, largest)
        return numbers


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


class OnnxSide:
    """An ONNX file, its modules and their values."""

    def __init__(self, path: str, words: Sequence[str] = (), optimize: bool = False,
                 hierarchy: Optional[Mapping[str, Any]] = None) -> None:
        """`words`: options of the program. `hierarchy`: the modules of the source model, for a file without tags."""
        self.name = path
        self._optimize = optimize
        with tempfile.TemporaryDirectory() as folder:
            given = list(words)
            answer = program.run(["export", path, "--to", "sidecar", *given])
            if hierarchy is not None and not given and "onnx-tag: mapped" in answer.err:
                given = ["--hierarchy", os.path.join(folder, "hierarchy.json")]
                with open(given[1], "w", encoding="ascii") as file:
                    file.write(odd_bytes.dumps({"modules": hierarchy}))
                answer = program.run(["export", path, "--to", "sidecar", *given])
            document = odd_bytes.loads(answer.out)
            self.statistics: Dict[str, Any] = document["statistics"]
            self.graph = Graph(document)
            self.taps = self._taps(folder, given)

    def _taps(self, folder: str, words: Sequence[str]) -> List[Tap]:
        answer = program.run(["tap", self.name, "--module", "", "**", "-o", os.path.join(folder, "tapped.onnx"),
                              "--data", "keep", "--dry-run", "--json", *words])
        if answer.code != 0:                                # no module has an output
            return []
        taps: List[Tap] = []
        seen: Dict[Tuple[str, Real], Tap] = {}
        for row in odd_bytes.loads(answer.out)["taps"]:
            node = self.graph.producer.get(row["value"])
            candidates = self.graph.candidates(row["value"])
            same = next((seen[row["module"], real] for real in candidates if (row["module"], real) in seen), None)
            if same is not None:                            # x and its quantized form are one output
                same.candidates.extend(real for real in candidates if real not in same.candidates)
            elif candidates:
                same = Tap(row["module"], row["class"], row["value"], -1 if node is None else node.place, candidates,
                           None if node is None else node.confidence)
                taps.append(same)
            for real in candidates:
                seen[row["module"], real] = same or taps[-1]
        return taps

    @functools.cached_property
    def by_module(self) -> Dict[str, List[Tap]]:
        result: Dict[str, List[Tap]] = {}
        for tap in self.taps:
            result.setdefault(tap.module, []).append(tap)
        return result

    @functools.cached_property
    def modules_with(self) -> Dict[str, List[str]]:
        """By value: the modules that it may be an output of."""
        result: Dict[str, List[str]] = {}
        for tap in self.taps:
            for real in tap.candidates:
                result.setdefault(real.value, []).append(tap.module)
        return result

    def classes(self) -> Dict[str, Optional[str]]:
        return {module: taps[0].cls for module, taps in self.by_module.items()}

    def sure(self) -> Tuple[int, int]:
        """Nodes with a tag of confidence medium or better, and all nodes."""
        nodes = self.graph.nodes
        return sum(node.confidence in CONFIDENCE[1:] for node in nodes), len(nodes)

    # ------------------------------------------------------------ running
    def session(self, values: Iterable[str] = (), given: Mapping[str, int] = {}) -> Any:
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.log_severity_level = 3
        if not self._optimize:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        # A model in memory has no folder of its own; weights in other files are looked for there.
        options.add_session_config_entry("session.model_external_initializers_file_folder_path",
                                         os.path.dirname(os.path.abspath(self.name)))
        try:
            with open(self.name, "rb") as file:
                return ort.InferenceSession(with_given(with_outputs(file.read(), values), given), options,
                                            providers=["CPUExecutionProvider"])
        except Exception as error:                          # ONNX Runtime raises a dozen kinds
            raise InputError(f"{self.name}: ONNX Runtime could not load it: {first_line(error)}") from None

    @functools.cached_property
    def signature(self) -> Tuple[List[str], List[str]]:
        """The names of the model's inputs and outputs."""
        session = self.session()
        return [value.name for value in session.get_inputs()], [value.name for value in session.get_outputs()]

    def given(self, module: str) -> List[Tap]:
        """Values that other nodes make for the module."""
        taps = []
        for value in sorted(self.graph.inputs_of(module)):
            node = self.graph.producer.get(value)
            if node is not None and node.op != "Constant":
                candidates = self.graph.candidates(value)
                if candidates:
                    taps.append(Tap(module, None, value, node.place, candidates, node.confidence))
        return taps

    def run(self, modules: Sequence[str], inputs: Mapping[str, Any]) -> "Tuple[FoundValues, FoundValues]":
        """By module: its outputs, and what was found for the candidates of each; then likewise what it is given."""
        outputs = {module: self.by_module.get(module, []) for module in modules}
        given = {module: self.given(module) if module else [] for module in modules}
        wanted = [tap for taps in (*outputs.values(), *given.values()) for tap in taps]
        needed = dict.fromkeys(value for tap in wanted for real in tap.candidates for value in real if value)
        session = self.session(value for value in needed if value not in self.signature[1])
        arrays = dict(zip(needed, self._outputs(session, list(needed), inputs)))
        return _found(outputs, arrays), _found(given, arrays)

    def run_with(self, given: Mapping[str, Any], inputs: Mapping[str, Any]) -> "List[Array]":
        """The outputs that are numbers, where the graph has these values instead of its own."""
        kinds = {"float16": 10, "float32": 1, "float64": 11}
        names = [name for name in self.signature[1] if name not in given]
        session = self.session(given={name: kinds[str(array.dtype)] for name, array in given.items()})
        found = dict(zip(names, self._outputs(session, names, {**inputs, **given}))) if names else {}
        return [array for name in self.signature[1] for array in [given.get(name, found.get(name))]
                if getattr(array, "dtype", None) is not None and array.dtype.kind == "f"]

    def _outputs(self, session: Any, names: List[str], inputs: Mapping[str, Any]) -> List[Any]:
        import numpy as np
        feed = {}
        for value in session.get_inputs():
            if value.name not in inputs:
                raise InputError(f"{self.name}: needs the input {value.name!r}; there are: {', '.join(inputs)}")
            array = np.asarray(inputs[value.name])
            kind = {"tensor(float16)": np.float16, "tensor(float)": np.float32, "tensor(double)": np.float64,
                    "tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(value.type)
            try:
                if array.dtype.kind == "c":                     # would lose a part without a word
                    raise TypeError
                feed[value.name] = array.astype(kind) if kind is not None and array.dtype != kind else array
            except (TypeError, ValueError):
                raise InputError(f"{self.name}: the input {value.name!r} takes numbers, not {array.dtype}") from None
        try:
            return list(session.run(names, feed))
        except Exception as error:
            raise InputError(f"{self.name}: ONNX Runtime could not run it on these inputs: {first_line(error)}"
                             ) from None


class Found(NamedTuple):
    """A candidate and its numbers; `array` is None if they cannot be made real."""
    real: Real
    array: "Optional[Array]"


FoundValues = Dict[str, List[Tuple[Tap, List[Found]]]]


def _found(taps: Mapping[str, Sequence[Tap]], arrays: Mapping[str, Any]) -> FoundValues:
    result: FoundValues = {}
    for module, values in taps.items():
        for tap in values:
            found = [Found(real, array) for real, array in _real_arrays(tap.candidates, arrays)]
            if found:
                result.setdefault(module, []).append((tap, found))
    return result


def _real_arrays(candidates: Sequence[Real], arrays: Mapping[str, Any]) -> "Iterator[Tuple[Real, Optional[Array]]]":
    import numpy as np
    for real in candidates:
        array = arrays.get(real.value)
        if isinstance(array, np.ndarray) and array.dtype.kind in "fciub":
            yield real, array if real.scale is None else dequantized(
                array, arrays[real.scale], None if real.zero is None else arrays[real.zero])


def dequantized(array: "Array", scale: "Array", zero: "Optional[Array]") -> "Optional[Array]":
    """(q - zero) * scale. None if the scales are of an axis that is not known."""
    import numpy as np
    if array.dtype.kind == "f":
        return array
    scale = np.asarray(scale, np.float32)
    zero = np.zeros_like(scale) if zero is None else np.asarray(zero, np.float32)
    if scale.size > 1:
        fitting = [axis for axis, size in enumerate(array.shape) if size == scale.size]
        if 1 not in fitting and len(fitting) != 1:          # 1 is the axis of ONNX where none is said
            return None
        shape = [1] * array.ndim
        shape[1 if 1 in fitting else fitting[0]] = scale.size
        scale, zero = scale.reshape(shape), zero.reshape(shape) if zero.size > 1 else zero.reshape(-1)[0]
    else:
        scale, zero = scale.reshape(-1)[0], zero.reshape(-1)[0]
    result: "Array" = (array.astype(np.float32) - zero) * scale
    return result
