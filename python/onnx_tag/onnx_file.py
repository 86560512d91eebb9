"""What the companion does with an ONNX file itself: it reads names and adds outputs, without a package for it."""
from __future__ import annotations

import mmap
import os
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from .errors import InputError

_Bytes = Union[bytes, "mmap.mmap"]
_Span = Tuple[int, int]

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 1, 5, 11, 12
_NODE_OUTPUT, _NODE_ATTRIBUTE = 2, 5
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS = (5, 10), (6, 11)
_TENSOR_EXTERNAL_DATA = 13
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
_VALUE_NAME = 1


class _Malformed(ValueError):
    pass


def _varint(data: _Bytes, at: int, end: int) -> Tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise _Malformed


def _messages(data: _Bytes, span: _Span) -> Iterator[Tuple[int, _Span]]:
    """The fields with a length: their numbers, and where they are."""
    return ((number, field) for number, field in _fields(data, span) if isinstance(field, tuple))


def _fields(data: _Bytes, span: _Span) -> Iterator[Tuple[int, Union[int, _Span]]]:
    """Numbers too: of a field without a length, its value."""
    at, end = span
    while at < end:
        key, at = _varint(data, at, end)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at, end)
            yield key >> 3, value
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        elif kind == 2:
            size, at = _varint(data, at, end)
            if size > end - at:
                raise _Malformed
            yield key >> 3, (at, at + size)
            at += size
        else:
            raise _Malformed


def _location(data: _Bytes, tensor: _Span) -> Optional[str]:
    for number, entry in _messages(data, tensor):
        if number == _TENSOR_EXTERNAL_DATA:
            texts = {part: data[begin:end] for part, (begin, end) in _messages(data, entry)}
            if texts.get(_ENTRY_KEY) == b"location":
                return os.fsdecode(texts.get(_ENTRY_VALUE, b""))
    return None


def _tensors(data: _Bytes, graph: _Span) -> Iterator[_Span]:
    pending = [graph]
    while pending:
        for number, span in _messages(data, pending.pop()):
            if number == _GRAPH_INITIALIZER:
                yield span
            elif number == _GRAPH_NODE:
                for part, attribute in _messages(data, span):
                    if part == _NODE_ATTRIBUTE:
                        for field, inner in _messages(data, attribute):
                            if field in _ATTRIBUTE_TENSORS:
                                yield inner
                            elif field in _ATTRIBUTE_GRAPHS:
                                pending.append(inner)


def external_files(path: "str | os.PathLike[str]") -> List[str]:
    """The files that hold the model's weights, as the model names them. Nothing for what is no model."""
    found: List[str] = []
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for number, graph in _messages(data, (0, len(data))):
                if number == _MODEL_GRAPH:
                    found.extend(name for name in (_location(data, tensor) for tensor in _tensors(data, graph)) if name)
    except (OSError, ValueError):                           # not a model: the program says so
        pass
    return list(dict.fromkeys(found))


def _numbers(*values: int) -> bytes:
    encoded = bytearray()
    for value in values:
        while value > 0x7F:
            encoded.append(value & 0x7F | 0x80)
            value >>= 7
        encoded.append(value)
    return bytes(encoded)


def _field(number: int, data: bytes) -> bytes:
    return _numbers(number << 3 | 2, len(data)) + data


def with_outputs(model: bytes, values: Iterable[str]) -> bytes:
    """The model with more outputs of the graph. They have no types; a runtime infers those.

    Protobuf merges a message that occurs twice, so the new outputs are a second graph behind the first one.
    """
    outputs = (_field(_VALUE_NAME, value.encode("utf-8", "surrogateescape")) for value in values)
    graph = b"".join(_field(_GRAPH_OUTPUT, output) for output in outputs)
    return model + _field(_MODEL_GRAPH, graph) if graph else model


def with_given(model: bytes, values: Mapping[str, int]) -> bytes:
    """The model with values of the main graph as inputs, by type of their elements; no node makes them any more."""
    given = {value.encode("utf-8", "surrogateescape"): kind for value, kind in values.items()}

    def without_makers(graph: _Span) -> Iterator[bytes]:
        for number, (begin, end) in _messages(model, graph):
            made = {model[start:stop] for part, (start, stop) in _messages(model, (begin, end)) if part == _NODE_OUTPUT
                    } if number == _GRAPH_NODE else set()
            if not made & given.keys():
                yield _field(number, model[begin:end])
        for name, kind in given.items():
            tensor = _field(1, _numbers(1 << 3, kind))
            yield _field(_GRAPH_INPUT, _field(_VALUE_NAME, name) + _field(2, tensor))

    if not given:
        return model
    parts = []
    for number, field in _fields(model, (0, len(model))):
        if isinstance(field, int):
            parts.append(_numbers(number << 3, field))
        else:
            graph = number == _MODEL_GRAPH and any(part == _GRAPH_NODE for part, _ in _messages(model, field))
            parts.append(_field(number, b"".join(without_makers(field)) if graph else model[field[0]:field[1]]))
    return b"".join(parts)


def inputs(path: "str | os.PathLike[str]") -> Dict[str, Tuple[int, List[Union[int, str]]]]:
    """The inputs of the graph by name: the type of elements, and dimensions (numbers or names). Raises InputError."""
    found: Dict[str, Tuple[int, List[Union[int, str]]]] = {}
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for number, graph in _messages(data, (0, len(data))):
                for part, info in _messages(data, graph) if number == _MODEL_GRAPH else ():
                    if part == _GRAPH_INPUT:
                        texts = dict(_messages(data, info))
                        begin, end = texts.get(_VALUE_NAME, (0, 0))
                        found[data[begin:end].decode("utf-8", "surrogateescape")] = _tensor_type(data, texts.get(2))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its fields cannot be read"
        raise InputError(f"{os.fspath(path)}: not an ONNX model: {reason}") from None
    return found


def _tensor_type(data: _Bytes, value: Optional[_Span]) -> Tuple[int, List[Union[int, str]]]:
    """Of a TypeProto; element type 0 if it is none of a tensor."""
    tensor = dict(_messages(data, value)).get(1) if value else None
    fields = dict(_fields(data, tensor)) if tensor else {}
    element, shape = fields.get(1, 0), fields.get(2)
    dims: List[Union[int, str]] = []
    for _, dim in _messages(data, shape) if isinstance(shape, tuple) else ():
        parts = dict(_fields(data, dim))
        number, name = parts.get(1), parts.get(2)
        dims.append(number if isinstance(number, int) else
                    data[name[0]:name[1]].decode("utf-8", "replace") if isinstance(name, tuple) else "")
    return element if isinstance(element, int) else 0, dims
