"""Companion of onnx-tag: records facts about a PyTorch model, and reads the tags of an ONNX file.

`record`, `export_and_record` and `Recorder` need torch; `Tags` needs nothing but Python. torch is imported when one of
the former is first used.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .document import RecordingError
from .tags import BoundTags, Module, Node, Tags, TagsError

if TYPE_CHECKING:
    from .api import Recorder as Recorder
    from .api import export_and_record as export_and_record
    from .api import record as record

__all__ = ["BoundTags", "Module", "Node", "Recorder", "RecordingError", "Tags", "TagsError", "__version__",
           "export_and_record", "record"]
_NEED_TORCH = ("Recorder", "export_and_record", "record")


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        from . import api
        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
