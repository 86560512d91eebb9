"""Where in the Python code the operations of a model ran: tracebacks as Python prints them, each stored once."""
from __future__ import annotations

import linecache
import os
import re
import sysconfig
from types import CodeType, FrameType
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_TORCH_NN = os.path.join(_TORCH, "nn") + os.sep
_MODULE = os.path.join(_TORCH, "nn", "modules", "module.py")
_PACKAGES = re.compile(r".*[/\\\\](?:site|dist)-packages[/\\\\]", re.DOTALL)
_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
# One frame of a stack: the code and the line in it. Code objects are kept, so their ids stay theirs.
_Place = Tuple[CodeType, int]


class Tracebacks:
    """Numbers tracebacks. Operations of equal layers have the same one, so there are few."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts: List[str] = list(texts)
        self._numbers: Dict[str, int] = {text: number for number, text in enumerate(self.texts)}
        self._known: Dict[Tuple[_Place, ...], int] = {}
        self._kept: Dict[CodeType, bool] = {}

    def add(self, text: Optional[str]) -> Optional[int]:
        if not text:
            return None
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number

    def here(self, frame: Optional[FrameType], outside: Optional[FrameType]) -> Optional[int]:
        """The stack from `frame` to the frame before `outside`, without the machinery of torch and of the recorder."""
        places: List[_Place] = []
        while frame is not None and frame is not outside:
            code = frame.f_code
            if self._is_kept(code):
                places.append((code, frame.f_lineno))
            frame = frame.f_back
        key = tuple(places)
        if not key:
            return None
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = self.add(_printed(places)) or 0
        return number

    def _is_kept(self, code: CodeType) -> bool:
        kept = self._kept.get(code)
        if kept is None:
            file = code.co_filename
            kept = self._kept[code] = not file.startswith(_OURS) and (
                not file.startswith(_TORCH) or (file.startswith(_TORCH_NN) and file != _MODULE))
        return kept


def _printed(places: List[_Place]) -> str:
    """As torch.export writes stack traces: the outermost frame first."""
    lines: List[str] = []
    for code, line in reversed(places):
        lines.append(f'  File "{code.co_filename}", line {line}, in {code.co_name}')
        text = linecache.getline(code.co_filename, line).strip()
        if text:
            lines.append(f"    {text}")
    return "\n".join(lines).strip()


class CallLines:
    """The lines of the model's own code that call its modules; the same rules as docs/guide/source-lines.md has."""

    def __init__(self) -> None:
        self._own: Dict[str, bool] = {}

    def here(self, frame: Optional[FrameType], outside: Optional[FrameType]) -> Optional[Dict[str, Any]]:
        """The innermost line between `frame` and `outside`, with the whole path of its file."""
        while frame is not None and frame is not outside:
            code = frame.f_code
            if self._is_own(code.co_filename):
                text = linecache.getline(code.co_filename, frame.f_lineno).strip()
                return {"file": code.co_filename, "line": frame.f_lineno, "function": code.co_name,
                        "text": text[:400] or None}
            frame = frame.f_back
        return None

    def _is_own(self, file: str) -> bool:
        own = self._own.get(file)
        if own is None:
            in_package = _PACKAGES.match(file) is not None
            own = self._own[file] = not (file.startswith((_OURS, _TORCH, "<"))
                                         or (file.startswith(_LIBRARY) and not in_package))
        return own

    def shorten(self, lines: Iterable[Dict[str, Any]]) -> None:
        """Replaces paths by what follows site-packages, or the folder that all other files share."""
        files = [file for file, own in self._own.items() if own]
        outside = [os.path.dirname(file) for file in files if not _PACKAGES.match(file)]
        try:
            folder = os.path.commonpath(outside) if outside else ""
        except ValueError:                                  # a cell of a notebook beside a file, two drives
            folder = ""
        short = {}
        for file in files:
            inside = _PACKAGES.match(file)
            known = folder and file.startswith(folder.rstrip(os.sep) + os.sep)
            name = file[inside.end():] if inside else os.path.relpath(file, folder) if known else os.path.basename(file)
            short[file] = name.replace(os.sep, "/")
        for line in lines:
            line["file"] = short[line["file"]]
