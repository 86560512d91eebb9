"""The recording as a file: `onnx-tag-recording/1`.

docs/reference/schemas/recording.schema.json describes every field.

Needs neither torch nor onnx, so that tools which only read or check recordings can use it.
"""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Optional

from . import odd_bytes
from .outputs import Inputs, Output
from .outputs import PathLike as PathLike

FORMAT = "onnx-tag-recording/1"
HEAD = b'{"format":"onnx-tag-recording/'
# Sections with one entry per line: a recording can be read, grepped and compared by lines.
LINES = ("modules", "inputs", "outputs", "values", "calls", "functions", "events", "fx", "tracebacks")


class RecordingError(Exception):
    """A recording cannot be made or read. The message says what to do."""


def _compact(value: Any) -> str:
    return odd_bytes.dumps(value, separators=(",", ":"), allow_nan=False)


def _pieces(document: Dict[str, Any]) -> Iterator[str]:
    opening = "{"
    for key, value in document.items():
        yield f"{opening}{_compact(key)}:"
        opening = ",\n"
        if key not in LINES or not value:
            yield _compact(value)
        elif isinstance(value, dict):
            yield "{\n"
            yield ",\n".join(f" {_compact(k)}:{_compact(v)}" for k, v in value.items())
            yield "}"
        else:
            yield "[\n"
            yield ",\n".join(" " + _compact(v) for v in value)
            yield "]"
    yield "}\n"


def dumps(document: Dict[str, Any]) -> str:
    """The same document gives the same bytes."""
    return "".join(_pieces(document))


def save(document: Dict[str, Any], path: PathLike, inputs: Optional[Inputs] = None, force: bool = False) -> None:
    """Writes the recording whole or not at all. Replaces a recording; any other file only with `force`."""
    with Output(path, inputs or Inputs(), HEAD, force) as out:
        for piece in _pieces(document):
            out.write(piece.encode("ascii"))


def load(path: PathLike) -> Dict[str, Any]:
    """A recording, or a plain module map `{"modules": {"<path>": "<Class>"}}`."""
    name = os.fspath(path)
    with open(name, encoding="utf-8-sig") as file:
        try:
            document = odd_bytes.loads(file.read())
        except ValueError as error:
            raise RecordingError(f"{name}: not JSON: {error}") from None
        except RecursionError:
            raise RecordingError(f"{name}: not a recording: the JSON is nested too deeply") from None
    if not isinstance(document, dict):
        raise RecordingError(f"{name}: not a recording: the document is not an object")
    said = document.get("format", FORMAT)
    if said != FORMAT:
        raise RecordingError(f"{name}: the format is {said!r}, but this version reads {FORMAT!r}")
    if not isinstance(document.get("modules"), dict):
        raise RecordingError(f"{name}: not a recording: no object 'modules'; "
                             "make one with: python -m onnx_tag record module:function -o recording.json")
    return document
