"""A recorded run of a PyTorch model: what its modules gave, for comparisons without PyTorch.

A reference is a zip file: `reference.json` (docs/reference/schemas/reference.schema.json) and arrays as .npy files. Of
every output of every module it has statistics and a sample of at most 65,536 values; whole tensors on request. Nothing
in it is executed when it is read, and its size is bounded when it is written.
"""
from __future__ import annotations

import io
import platform
import re
import sys
import weakref
import zipfile
from dataclasses import dataclass
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from . import odd_bytes
from ._version import __version__
from .arrays import LIMIT, read_npy
from .errors import InputError, OutputError
from .globs import matcher
from .measures import SAMPLE, Counts, positions, statistics
from .outputs import Inputs, Output, PathLike
from .tags import SourceLine

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn
    Array = np.ndarray[Any, Any]

FORMAT = "onnx-tag-reference/1"
_MARK = "onnx-tag-reference"
# The first entry of the zip has this name, so that the kind of the file can be seen.
HEAD = re.compile(rb"PK\x03\x04.{26}" + _MARK.encode(), re.DOTALL)
MAX_SIZE = 1 << 30
_MOST_JSON = 1 << 28


@dataclass(eq=False)
class Recorded:
    """One output of a module: of one call, and one of its tensors."""
    module: str
    shape: Tuple[int, ...]
    kind: str                                               # of numpy: f, i, u, b or c
    tensor: "Optional[Array]"
    sample: "Optional[Array]"
    counts: Counts
    value: Optional[str] = None                             # its name in an ONNX file

    @staticmethod
    def of(module: str, array: "Array", value: str) -> "Recorded":
        return Recorded(module, array.shape, array.dtype.kind, array, None, Counts.of(array), value)


class Values(NamedTuple):
    """By module: what it returned, and what it was given."""
    outputs: Dict[str, List[Recorded]]
    given: Dict[str, List[Recorded]]


# ------------------------------------------------------------ recording
def watch(model: "nn.Module", paths: Sequence[str], run: Callable[[], Any],
          made: "Callable[[str, int, int, str, Tensor], None]",
          read: "Callable[[str, int, int, str, Tensor], None]",
          called: "Callable[[str, int, FrameType, FrameType], None]") -> None:
    """Runs the model. `made` gets every tensor that a module returns, `read` every one that a module is given.

    `called` gets each call, the frame that it comes from, and the frame around the whole run.
    """
    from .recorder import named_leaves
    outside = sys._getframe()
    modules = dict(model.named_modules())
    calls: Dict[str, int] = {}
    hooks = []

    def before(path: str) -> Callable[..., None]:
        def hook(module: Any, args: Any) -> None:
            calls[path] = calls.get(path, -1) + 1
            called(path, calls[path], sys._getframe(1), outside)
            for place, (name, tensor) in enumerate(named_leaves("", args)):
                read(path, calls[path], place, name, tensor)
        return hook

    def after(path: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, output: Any) -> None:
            for place, (name, tensor) in enumerate(named_leaves("", output)):
                made(path, calls[path], place, name, tensor)
        return hook

    try:
        for path in paths:
            hooks.append(modules[path].register_forward_pre_hook(before(path)))
            hooks.append(modules[path].register_forward_hook(after(path)))
        run()
    finally:
        for handle in hooks:
            handle.remove()


def as_array(tensor: "Tensor") -> "Array":
    """A copy: what a module returns may be changed in place by the next one."""
    import torch
    if tensor.dtype == torch.bfloat16 or tensor.is_quantized:
        tensor = tensor.dequantize() if tensor.is_quantized else tensor.float()
    return tensor.detach().cpu().numpy().copy()             # type: ignore[no-any-return]


class _Writer:
    """A zip whose arrays stay below a size."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._left = most
        self._numbers: Dict[str, int] = {}
        self.left_out = 0
        self.add_bytes(_MARK, FORMAT.encode())

    def add_bytes(self, name: str, data: bytes, compressed: bool = False) -> None:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))     # the same run gives the same bytes
        info.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        self._zip.writestr(info, data)

    def add(self, folder: str, array: "Array", needed: bool = False) -> Optional[str]:
        """The name of the array in the file; None if there is no room for it."""
        import numpy as np
        if array.nbytes > self._left:
            if needed:
                raise OutputError("the inputs alone are larger than --max-size")
            self.left_out += 1
            return None
        self._left -= array.nbytes
        number = self._numbers[folder] = self._numbers.get(folder, -1) + 1
        name = f"{folder}/{number}.npy"
        data = io.BytesIO()
        np.lib.format.write_array(data, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
        self.add_bytes(name, data.getvalue())
        return name

    def close(self, document: Mapping[str, Any]) -> None:
        self.add_bytes("reference.json", odd_bytes.dumps(document, allow_nan=False).encode("ascii"), compressed=True)
        self._zip.close()


def record_reference(model: "nn.Module", inputs: Any, path: PathLike, *, kwargs: Optional[Mapping[str, Any]] = None,
                     modules: Sequence[str] = (), tensors: Sequence[str] = (), max_size: int = MAX_SIZE,
                     force: bool = False, source: str = "", files: Optional[Inputs] = None) -> Dict[str, Any]:
    """Runs the model once in eval mode and writes what its modules give to `path`.

    `inputs` are a tensor, a sequence, or a mapping of keywords. `modules` and `tensors` are patterns such as
    `encoder.layer.*` (`**` crosses dots): the modules to record (default: all), and those whose outputs are stored
    whole. `max_size` bounds the arrays in the file: what has no room is left out, statistics are always there. Returns
    the document that is stored as reference.json.
    """
    import torch

    from .api import split_inputs
    from .exporting import without_cache
    from .modules import module_map
    from .recorder import Recorder, alone, named_leaves
    from .running import evaluating
    from .tracebacks import CallLines
    args, named = split_inputs(inputs, kwargs)
    chosen, whole = matcher(modules or ["**", ""]), matcher(tensors)
    paths = [name for name, _ in model.named_modules() if chosen(name)]
    if not paths:
        raise InputError(f"the model has no module that fits {' '.join(modules)}")
    document: Dict[str, Any] = {
        "format": FORMAT, "tool": {"name": "onnx_tag", "version": __version__, "torch": torch.__version__,
                                   "python": platform.python_version()},
        "source": source, "modules": module_map(model), "inputs": [], "outputs": [], "given": []}
    rows_of: Dict[int, Tuple[Any, List[Dict[str, Any]]]] = {}   # by id of a tensor, while it lives
    code = CallLines()
    lines: Dict[Tuple[str, int], Optional[Dict[str, Any]]] = {}     # by module and call

    with Output(path, files or Inputs(), HEAD, force) as file:
        writer = _Writer(file, max_size)
        for name, tensor in named_leaves("", Recorder(model)._by_name(args, named)):
            array = as_array(tensor)
            document["inputs"].append({"name": name, "dtype": str(array.dtype), "shape": list(array.shape),
                                       "array": writer.add("inputs", array, needed=True)})

        def described(module: str, call: int, what: str, place: int, name: str, tensor: "Tensor") -> Dict[str, Any]:
            array = as_array(tensor)
            stored = writer.add("tensors", array) if whole(module) else None
            sample = None if stored else writer.add("samples", array.reshape(-1)[positions(array.size)])
            return {"module": module, "call": call, what: place, "name": name, "dtype": str(array.dtype),
                    "shape": list(array.shape), "statistics": statistics(array), "tensor": stored, "sample": sample}

        def made(module: str, call: int, place: int, name: str, tensor: "Tensor") -> None:
            number = len(document["outputs"])
            row = {**described(module, call, "output", place, name, tensor), "identity": number, "read_by": [],
                   "source_line": lines.get((module, call))}
            document["outputs"].append(row)
            known = rows_of.get(id(tensor))
            if known is not None and known[0]() is tensor:  # a module returns what its last part returned
                row["identity"] = known[1][0]["identity"]
                known[1].append(row)
            else:
                rows_of[id(tensor)] = weakref.ref(tensor), [row]

        def read(module: str, call: int, place: int, name: str, tensor: "Tensor") -> None:
            known = rows_of.get(id(tensor))
            if known is not None and known[0]() is tensor:
                for row in known[1]:
                    if module not in row["read_by"]:
                        row["read_by"].append(module)
            elif module and tensor.is_floating_point():     # made by code between modules
                document["given"].append(described(module, call, "input", place, name, tensor))

        def called(module: str, call: int, frame: FrameType, outside: FrameType) -> None:
            lines[module, call] = code.here(frame, outside)

        with alone, evaluating(model), without_cache(model, named):
            watch(model, paths, lambda: model(*args, **named), made, read, called)
        code.shorten(line for line in lines.values() if line is not None)
        document["left_out"] = writer.left_out
        writer.close(document)
    return document


# ------------------------------------------------------------ reading
class Reference:
    """A reference that was read: one side of a comparison."""

    def __init__(self, path: str) -> None:
        self.name = path
        try:
            self._zip = zipfile.ZipFile(path)
            info = self._zip.getinfo("reference.json")
            if info.file_size > _MOST_JSON:
                raise ValueError("reference.json is too large")
            with self._zip.open(info) as file:
                document = odd_bytes.loads(file.read(_MOST_JSON).decode("utf-8"))
            self._read(document)
        except Exception as error:      # zipfile, zlib and json raise a dozen kinds for damaged files
            raise _not_valid(path, error) from None

    def _read(self, document: Any) -> None:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            said = document.get("format") if isinstance(document, dict) else document
            raise ValueError(f"the format is {said!r:.60}, but this version reads {FORMAT!r}")
        self.hierarchy: Dict[str, Any] = _typed(document, "modules", dict)
        self._inputs: List[Dict[str, Any]] = _typed(document, "inputs", list)
        self._rows: Dict[str, Dict[str, List[Dict[str, Any]]]] = {"outputs": {}, "given": {}}
        self._chain: Dict[str, List[str]] = {}
        self._lines: Dict[str, SourceLine] = {}
        for list_name, rows in self._rows.items():
            for row in _typed(document, list_name, list):
                module = _typed(row, "module", str)
                known = _typed(row, "statistics", dict)
                for key in Counts.__dataclass_fields__:
                    _typed(known, key, int)
                readers = row.get("read_by", [])
                if not all(isinstance(size, int) and size >= 0 for size in _typed(row, "shape", list)) or not (
                        isinstance(readers, list) and all(isinstance(reader, str) for reader in readers)):
                    raise ValueError(f"a value of {module!r} is malformed")
                if row.get("source_line") is not None:
                    self._lines.setdefault(module, SourceLine.from_json(_typed(row, "source_line", dict)))
                rows.setdefault(module, []).append(row)
                self._chain.setdefault(module, []).extend(readers)

    def _array(self, row: Mapping[str, Any], key: str) -> "Optional[Array]":
        name = row.get(key)
        if name is None:
            return None
        try:
            with self._zip.open(name) as file:
                return read_npy(file, LIMIT)[0]
        except Exception as error:
            raise _not_valid(self.name, error) from None

    @property
    def inputs(self) -> "Dict[str, Array]":
        """By name, in the order of the model's arguments."""
        found = {}
        for row in self._inputs:
            array = self._array(row, "array") if isinstance(row, dict) else None
            if array is None or not isinstance(row.get("name"), str):
                raise _not_valid(self.name, ValueError("an input is missing"))
            found[row["name"]] = array
        return found

    def classes(self) -> Dict[str, Optional[str]]:
        entries = {module: self.hierarchy.get(module) for module in self._rows["outputs"]}
        return {module: str(entry["class"]) if isinstance(entry, dict) and entry.get("class") else None
                for module, entry in entries.items()}

    def readers(self, module: str) -> List[str]:
        """Modules that were given what this one returned."""
        return self._chain.get(module, [])

    def line(self, module: str) -> Optional[SourceLine]:
        """Where the module was called first."""
        return self._lines.get(module)

    def identities(self, module: str) -> Set[Any]:
        """Which tensors the module returned: numbers, equal for one tensor."""
        return {row.get("identity") for row in self._rows["outputs"].get(module, [])}

    def run(self, modules: Sequence[str], inputs: Mapping[str, Any]) -> Values:
        """What these modules returned, and what code between modules gave to them."""
        return Values(self._recorded("outputs", modules), self._recorded("given", modules))

    def _recorded(self, list_name: str, modules: Sequence[str]) -> Dict[str, List[Recorded]]:
        result: Dict[str, List[Recorded]] = {}
        for module in modules:
            for row in self._rows[list_name].get(module, []):
                tensor, sample = self._array(row, "tensor"), self._array(row, "sample")
                array = tensor if tensor is not None else sample
                shape, known = tuple(row["shape"]), row["statistics"]
                if array is None:
                    continue                                # left out: --max-size
                if array.size != (_count(shape) if tensor is not None else min(_count(shape), SAMPLE)):
                    raise _not_valid(self.name, ValueError(f"an array of {module!r} has another size"))
                whole = array.reshape(shape) if array.size == _count(shape) else None
                result.setdefault(module, []).append(Recorded(
                    module, shape, array.dtype.kind, whole, sample,
                    Counts(**{key: known[key] for key in Counts.__dataclass_fields__})))
        return result


def is_reference(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return HEAD.match(file.read(64)) is not None
    except (OSError, ValueError):
        return False


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _typed(row: Any, key: str, kind: type) -> Any:
    value = row.get(key) if isinstance(row, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"reference.json: {key!r} is {value!r:.60}")
    return value


def _not_valid(path: str, error: BaseException) -> InputError:
    return InputError(f"{path}: not a valid reference: {str(error) or type(error).__name__}\n"
                      "  make one with: python -m onnx_tag reference MODULE:FUNCTION -o run.ref")
