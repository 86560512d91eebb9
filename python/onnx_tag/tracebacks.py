"""Where in the Python code the operations of a model ran: tracebacks as Python prints them, each stored once."""
from __future__ import annotations

import linecache
import os
from types import CodeType, FrameType
from typing import Dict, Iterable, List, Optional, Tuple

import torch

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_TORCH_NN = os.path.join(_TORCH, "nn") + os.sep
_MODULE = os.path.join(_TORCH, "nn", "modules", "module.py")
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
