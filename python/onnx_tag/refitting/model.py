"""The tensors of an ONNX file: where their bytes are, and which nodes read them."""
from __future__ import annotations

import mmap
import os
import struct
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from ..errors import InputError
from ..onnx_file import _Malformed, _varint

if TYPE_CHECKING:
    from ..arrays import Array

Span = Tuple[int, int]
# Of TensorProto.DataType. BFLOAT16 is the upper half of a float.
FLOAT, UINT8, INT8, INT32, FLOAT16, DOUBLE, BFLOAT16 = 1, 2, 3, 6, 10, 11, 16
FLOATS = (FLOAT, FLOAT16, DOUBLE, BFLOAT16)
NUMPY = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 12: "<u4",
         13: "<u8", 16: "<u2"}
_TYPED = {4: ("<f4", 4), 10: ("<f8", 8)}                    # fields of numbers with a fixed width
_VARINTS = (5, 7, 11)


class Message(NamedTuple):
    """A message inside others: where its length begins, and where its content is."""
    length: int
    begin: int
    end: int


class Tensor:
    def __init__(self, name: str, chain: Tuple[Message, ...], initializer: bool) -> None:
        self.name, self.chain, self.initializer = name, chain, initializer
        self.kind = 0
        self.shape: List[int] = []
        self.file, self.at, self.size = "", 0, 0            # "": in the model itself; only of bytes as they are
        self.location = ""
        self.data: "Optional[Array]" = None                 # its bytes; None: they cannot be read
        self.module: Optional[str] = None
        self.hint: Dict[str, Any] = {}

    @property
    def count(self) -> int:
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    @property
    def is_float(self) -> bool:
        return self.kind in FLOATS

    def numbers(self) -> "Array":
        """In its own shape and type. REQUIRES: `data`."""
        assert self.data is not None
        return self.data.view(NUMPY[self.kind]).reshape(self.shape)

    def floats(self) -> "Array":
        found = self.numbers()
        if self.kind == BFLOAT16:
            return (found.astype(np.uint32) << 16).view(np.float32)
        return found.astype(np.float32, copy=False)


class Node(NamedTuple):
    op: str
    inputs: List[str]
    outputs: List[str]
    numbers: Dict[str, int]                                 # attributes that are whole numbers
    chain: Tuple[Message, ...]                              # its graph, and the graphs and nodes around that; itself


class ModelFile:
    def __init__(self, path: str) -> None:
        self.path = path
        self.tensors: List[Tensor] = []
        self.nodes: List[Node] = []                         # of all graphs
        self.locations: Dict[str, str] = {}                 # files of weights: their paths, by their names in the model
        try:
            with open(path, "rb") as file:
                self.mark = _mark(file.fileno())
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            for number, field in self._messages((0, len(self.data))):
                if number == 7:
                    self._read_graph((field,))
        except (OSError, ValueError, IndexError, struct.error) as error:
            said = getattr(error, "strerror", None) or "not an ONNX model: its fields cannot be read"
            raise InputError(f"{path}: {said}") from None
        self.readers: Dict[str, List[Tuple[int, int]]] = {}
        self.producers: Dict[str, int] = {}
        for i, node in enumerate(self.nodes):
            for slot, value in enumerate(node.inputs):
                self.readers.setdefault(value, []).append((i, slot))
            self.producers.update((value, i) for value in node.outputs)
        names: Dict[str, int] = {}
        for tensor in self.tensors:
            names[tensor.name] = names.get(tensor.name, 0) + 1
        for tensor in self.tensors:
            if names[tensor.name] > 1:
                tensor.data = None                          # nobody can tell which one a node reads
        self.by_name = {tensor.name: tensor for tensor in self.tensors}

    def check_unchanged(self) -> None:
        try:
            with open(self.path, "rb") as file:
                same = _mark(file.fileno()) == self.mark
        except OSError:
            same = False
        if not same:
            raise InputError(f"{self.path}: changed while it was read")

    def _fields(self, span: Span) -> Iterator[Tuple[int, int, Any, int]]:
        """Number, type, value or span, and where the length begins."""
        at, end = span
        while at < end:
            key, at = _varint(self.data, at, end)
            kind, length = key & 7, at
            if kind == 0:
                value, at = _varint(self.data, at, end)
                yield key >> 3, 0, value, length
            elif kind == 2:
                size, at = _varint(self.data, at, end)
                if size > end - at:
                    raise _Malformed
                yield key >> 3, 2, (at, at + size), length
                at += size
            elif kind in (1, 5):
                at += 8 if kind == 1 else 4
                yield key >> 3, kind, (length, at), length
            else:
                raise _Malformed

    def _messages(self, span: Span) -> Iterator[Tuple[int, Message]]:
        return ((number, Message(length, *value)) for number, kind, value, length in self._fields(span) if kind == 2)

    def _text(self, span: Span) -> str:
        return self.data[span[0]:span[1]].decode("utf-8", "surrogateescape")

    def _read_graph(self, chain: Tuple[Message, ...]) -> None:
        pending = [chain]
        while pending:
            chain = pending.pop()
            for number, field in self._messages(chain[-1][1:]):
                if number == 5:
                    self._add((*chain, field), "", True)
                elif number == 1:
                    pending.extend(self._read_node((*chain, field)))

    def _read_node(self, chain: Tuple[Message, ...]) -> List[Tuple[Message, ...]]:
        node, graphs, values = Node("", [], [], {}, chain), [], []
        op = ""
        for number, field in self._messages(chain[-1][1:]):
            if number in (1, 2):
                (node.inputs if number == 1 else node.outputs).append(self._text(field[1:]))
            elif number == 4:
                op = self._text(field[1:])
            elif number == 5:
                name, whole = "", None
                for part, kind, value, length in self._fields(field[1:]):
                    if part == 1 and kind == 2:
                        name = self._text(value)
                    elif part == 3 and kind == 0:
                        whole = value - (1 << 64) if value >> 63 else value
                    elif part == 5 and kind == 2:
                        values.append((*chain, field, Message(length, *value)))
                    elif part in (6, 11) and kind == 2:
                        graphs.append((*chain, field, Message(length, *value)))
                if whole is not None:
                    node.numbers[name] = whole
        self.nodes.append(node._replace(op=op))
        if op == "Constant" and node.outputs and len(values) == 1:
            self._add(values[0], node.outputs[0], False)
        return graphs

    def _add(self, chain: Tuple[Message, ...], name: str, initializer: bool) -> None:
        tensor = Tensor(name, chain, initializer)
        external: Dict[str, str] = {}
        typed, outside = bytearray(), False
        for number, kind, value, _ in self._fields(chain[-1][1:]):
            if number == 1:
                tensor.shape.extend([value] if kind == 0 else self._varints(value))
            elif number == 2 and kind == 0:
                tensor.kind = value
            elif number == 8 and kind == 2 and not name:
                tensor.name = self._text(value)
            elif number == 9 and kind == 2:
                tensor.at, tensor.size = value[0], value[1] - value[0]
                tensor.data = np.frombuffer(self.data, np.uint8, tensor.size, tensor.at)
            elif number in _TYPED and kind in (1, 2, 5):
                typed += self.data[value[0]:value[1]]
            elif number in _VARINTS:
                whole = np.array([value] if kind == 0 else self._varints(value), np.uint64)
                typed += whole.astype(np.int64).astype(NUMPY.get(tensor.kind, "u1")).tobytes()
            elif number == 13 and kind == 2:
                entry = {part: self._text(text[1:]) for part, text in self._messages(value)}
                external[entry.get(1, "")] = entry.get(2, "")
            elif number == 14 and kind == 0:
                outside = value == 1
        if outside:
            self._read_outside(tensor, external)
        elif tensor.data is None and typed:
            tensor.data = np.frombuffer(bytes(typed), np.uint8)
        if tensor.kind not in NUMPY or min(tensor.shape, default=0) < 0 or tensor.data is not None and \
                tensor.data.size != tensor.count * np.dtype(NUMPY[tensor.kind]).itemsize:
            tensor.data = None
        elif tensor.count == 0:
            tensor.data = np.zeros(0, np.uint8)
        self.tensors.append(tensor)

    def _varints(self, span: Span) -> List[int]:
        found, at = [], span[0]
        while at < span[1]:
            value, at = _varint(self.data, at, span[1])
            found.append(value)
        return found

    def _read_outside(self, tensor: Tensor, entries: Dict[str, str]) -> None:
        """Files outside the model's folder are not read."""
        name = tensor.location = entries.get("location", "")
        parts = name.replace("\\", "/").split("/")
        if not name or os.path.isabs(name) or ".." in parts or "\0" in name:
            return
        path = os.path.join(os.path.dirname(self.path), name)
        try:
            tensor.at = int(entries.get("offset") or 0)
            whole = os.path.getsize(path)
            tensor.size = int(entries.get("length") or whole - tensor.at)
            if not 0 <= tensor.at <= tensor.at + tensor.size <= whole:
                return
            self.locations[name] = path
            tensor.file = path
            tensor.data = np.memmap(path, np.uint8, "r", tensor.at, (tensor.size,)) if tensor.size else np.zeros(0,
                np.uint8)
        except (OSError, ValueError):
            tensor.file, tensor.data = "", None


def _mark(handle: int) -> Tuple[int, int, int, int]:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
