"""The output: a copy of the model with new bytes in some tensors. It appears whole or not at all; no input changes."""
from __future__ import annotations

import contextlib
import filecmp
import os
import re
from typing import IO, TYPE_CHECKING, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ..errors import OutputError
from ..onnx_file import _field, _numbers, _varint, external_files
from ..outputs import Inputs, Output, judge
from .model import Message, ModelFile, Tensor

if TYPE_CHECKING:
    from ..arrays import Array

_STEP = 1 << 24
_LIMIT = (1 << 31) - 1
_MODEL = re.compile(rb"\x08.", re.DOTALL)                   # how every model begins: with the version of the format


class Edit(NamedTuple):
    """What stands instead of a range of the file."""
    begin: int
    end: int
    size: int
    make: "Callable[[], Union[bytes, Array]]"


Piece = Union[Tuple[int, int], Edit]


def plan_pieces(data_size: int, edits: "List[Tuple[Tuple[Message, ...], Edit]]") -> Tuple[List[Piece], int]:
    """The output in order, and its size: ranges of the input, and what is new. Lengths of messages around an edit
    change."""
    changes: Dict[Tuple[int, int], Tuple[Edit, int]] = {}
    grown: Dict[Message, int] = {}
    for chain, edit in edits:
        changes[edit.begin, edit.end] = edit, 0
        by = edit.size - (edit.end - edit.begin)
        for message in reversed(chain):
            old = message.begin - message.length
            grown[message] = grown.get(message, 0) + by
            # A length that takes another number of bytes changes the length around it; the last word counts.
            by += 0 if by == 0 else _width(message.end - message.begin + grown[message], old) - _width(
                message.end - message.begin + grown[message] - by, old)
    for message, by in grown.items():
        if by:
            text = _padded(message.end - message.begin + by, message.begin - message.length)
            edit = Edit(message.length, message.begin, len(text), lambda text=text: text)    # type: ignore[misc]
            changes[edit.begin, edit.end] = edit, 0
    pieces: List[Piece] = []
    at = size = 0
    for (begin, end), (edit, _) in sorted(changes.items()):
        pieces += [(at, begin), edit]
        size += begin - at + edit.size
        at = end
    pieces.append((at, data_size))
    return pieces, size + data_size - at


def _width(value: int, old: int) -> int:
    return max(len(_numbers(value)), old)


def _padded(value: int, width: int) -> bytes:
    """As long as the length that it replaces, if it can be."""
    text = bytearray(_numbers(value))
    while len(text) < width:
        text[-1] |= 0x80
        text.append(0)
    return bytes(text)


def tensor_message(model: ModelFile, tensor: Tensor, raw: Optional[int], location: str) -> bytes:
    """A TensorProto up to its `raw` bytes of numbers, or one whose numbers are in another file."""
    kept = []
    end = tensor.chain[-1].begin
    for number, kind, _, length in model._fields(tensor.chain[-1][1:]):
        begin, end = end, _value_end(model, kind, length)
        if number not in (4, 5, 6, 7, 9, 10, 11, 13, 14):
            kept.append(model.data[begin:end])
    if raw is not None:
        return b"".join(kept) + _numbers(9 << 3 | 2, raw)
    entries = [("location", location), ("offset", str(tensor.at)), ("length", str(tensor.size))]
    return b"".join([*kept, *(_field(13, _field(1, key.encode()) + _field(2, value.encode("utf-8", "surrogateescape")))
                              for key, value in entries), _numbers(14 << 3, 1)])


def _value_end(model: ModelFile, kind: int, length: int) -> int:
    value, at = (_varint(model.data, length, len(model.data)) if kind in (0, 2) else (0, length))
    return at if kind == 0 else at + value if kind == 2 else length + (8 if kind == 1 else 4)


class Writer:
    def __init__(self, model: ModelFile, made: "Dict[str, Callable[[], Array]]", path: str, force: bool,
                 inputs: Inputs, edits: "Sequence[Tuple[Tuple[Message, ...], Edit]]" = ()) -> None:
        self.model, self.made, self.path, self.force, self.inputs, self.edits = model, made, path, force, inputs, edits
        self.folder = os.path.dirname(os.path.abspath(path))
        self.tensors = {tensor.name: tensor for tensor in model.tensors}
        self._fresh: List[str] = []
        self.outside: Dict[str, List[Tensor]] = {}
        for tensor in model.tensors:
            if tensor.location:
                self.outside.setdefault(tensor.location, []).append(tensor)

    def write(self, check: Callable[[], None]) -> str:
        """What was done, for people. The model is replaced last, then weights that nobody reads are removed."""
        judge(self.path, self.inputs, _MODEL, self.force)
        missing = sorted(name for name in self.outside if name not in self.model.locations)
        if missing:
            raise OutputError(f"{missing[0]}: the model's weights are not there")
        names: Dict[str, str] = {}
        try:
            for location in self.outside:
                names[location] = self._write_data(location, names, check)
            said = self._write_model(names, check)
        except BaseException:
            for name in self._fresh:
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(self.folder, name))
            raise
        self._remove_left(set(names.values()))
        return said

    def _write_model(self, names: Dict[str, str], check: Callable[[], None]) -> str:
        edits: List[Tuple[Tuple[Message, ...], Edit]] = list(self.edits)
        for tensor in self.model.tensors:
            if tensor.location:
                if names[tensor.location] != tensor.location:
                    text = tensor_message(self.model, tensor, None, names[tensor.location])
                    edits.append(_whole(tensor, text))
            elif tensor.name in self.made:
                assert tensor.data is not None
                if tensor.size:
                    edits.append((tensor.chain, Edit(tensor.at, tensor.at + tensor.size, tensor.size,
                                                     self.made[tensor.name])))
                else:
                    text = tensor_message(self.model, tensor, int(tensor.data.size), "")
                    edits.append(_whole(tensor, text + _bytes(self.made[tensor.name]()).tobytes()))
        pieces, size = plan_pieces(len(self.model.data), edits)
        if size > _LIMIT:
            raise OutputError(f"{self.path}: would be over 2 GiB")
        return _place(self.path, self.inputs, self.force, lambda out: _copy(memoryview(self.model.data), pieces, out),
                      check)

    def _write_data(self, location: str, taken: Dict[str, str], check: Callable[[], None]) -> str:
        source = self.model.locations[location]
        edits: List[Edit] = []
        for tensor in self.outside[location]:
            if tensor.name in self.made and (tensor.at, tensor.size) not in {(e.begin, e.size) for e in edits}:
                edits.append(Edit(tensor.at, tensor.at + tensor.size, tensor.size, self.made[tensor.name]))
        with open(source, "rb") as file:
            whole = os.fstat(file.fileno()).st_size
        data = np.memmap(source, np.uint8, "r") if whole else np.zeros(0, np.uint8)
        pieces: List[Piece] = []
        at = 0
        for edit in sorted(edits, key=lambda one: one.begin):
            pieces += [(at, edit.begin), edit]
            at = edit.end
        pieces.append((at, whole))
        base = os.path.basename(self.path)
        beside = os.path.realpath(self.folder) == os.path.realpath(os.path.dirname(os.path.abspath(self.model.path)))
        if beside and not edits:
            # both models read it
            return location
        elsewhere = os.path.realpath(self.folder) != os.path.realpath(os.path.dirname(os.path.abspath(self.model.path)))
        first = location if elsewhere and os.path.basename(location) == location else f"{base}.data"
        temporary = os.path.join(self.folder, f".onnx-tag-{os.urandom(4).hex()}")
        with Output(temporary, self.inputs) as out:
            _copy(data.data, pieces, out)
            check()
        try:
            k = 0
            while True:
                name = first if k == 0 else f"{base}.{k}.data"
                path, k = os.path.join(self.folder, name), k + 1
                if name in taken.values():
                    continue
                if os.path.lexists(path):
                    if os.path.isfile(path) and not self.inputs.find(path) and filecmp.cmp(path, temporary,
                        shallow=False):
                        return name
                    continue
                os.link(temporary, path)                    # fails where somebody made one in between
                self._fresh.append(name)
                return name
        except OSError as error:
            raise OutputError(f"{path}: could not write: {error.strerror}") from None
        finally:
            with contextlib.suppress(OSError):
                os.remove(temporary)

    def _remove_left(self, used: "set[str]") -> None:
        """Weights of an output that was replaced, unless another model in the folder reads them."""
        if not self.force:
            return
        ours = re.compile(re.escape(os.path.basename(self.path)) + r"(\.\d+)?\.data")
        left = [name for name in os.listdir(self.folder) if name not in used and (
            ours.fullmatch(name) or (name in self.outside and os.path.getsize(os.path.join(self.folder, name)) ==
                                     os.path.getsize(self.model.locations[name])))]
        if not left:
            return
        for name in os.listdir(self.folder):
            if name.endswith(".onnx"):
                left = [one for one in left if one not in external_files(os.path.join(self.folder, name))]
        for name in left:
            path = os.path.join(self.folder, name)
            if not self.inputs.find(path) and os.path.isfile(path) and not os.path.islink(path):
                with contextlib.suppress(OSError):
                    os.remove(path)

def _whole(tensor: Tensor, text: bytes) -> Tuple[Tuple[Message, ...], Edit]:
    own = tensor.chain[-1]
    return tensor.chain, Edit(own.begin, own.end, len(text), lambda: text)


def _bytes(numbers: "Union[bytes, Array]") -> "Array":
    if isinstance(numbers, bytes):
        return np.frombuffer(numbers, np.uint8)
    return np.ascontiguousarray(numbers).reshape(-1).view(np.uint8)


def _copy(data: memoryview, pieces: List[Piece], out: "IO[bytes]") -> None:
    for piece in pieces:
        if isinstance(piece, Edit):
            made = _bytes(piece.make())
            assert made.size == piece.size
            out.write(made.data)
        else:
            for at in range(piece[0], piece[1], _STEP):
                out.write(data[at:min(at + _STEP, piece[1])])


def _place(path: str, inputs: Inputs, force: bool, produce: "Callable[[IO[bytes]], None]", check: Callable[[],
    None]) -> str:
    """Under its name when it is whole. A file with these bytes is left alone."""
    staged = f"{os.path.realpath(path) if os.path.islink(path) else path}"
    temporary = os.path.join(os.path.dirname(staged) or ".", f".onnx-tag-{os.urandom(4).hex()}")
    try:
        with Output(temporary, inputs) as out:
            produce(out)
            check()
        with contextlib.suppress(OSError):
            if not inputs.find(path) and filecmp.cmp(path, temporary, shallow=False):
                return f"{path}: unchanged"
        target = judge(path, inputs, b"", force)
        with contextlib.suppress(OSError):
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        try:
            os.replace(temporary, target)
        except OSError as error:
            raise OutputError(f"{path}: could not write: {error.strerror}") from None
        return f"{path}: written"
    finally:
        with contextlib.suppress(OSError):
            os.remove(temporary)

