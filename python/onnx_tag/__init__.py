"""onnx-tag in Python: tags an ONNX file, asks its tags, and records what a PyTorch model is and does.

`record`, `export_and_record`, `export_and_tag`, `record_reference` and `Recorder` need torch; all else needs nothing
but Python. torch is imported when one of the former is first used.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .document import RecordingError
from .errors import GateError, ProgramError, RefitError, TagsError, UnknownWord
from .semantic import (
    HierarchyExporter,
    SemanticMapper,
    SemanticQueryInterface,
    TracingHierarchyBuilder,
    export_hf_model_with_semantics,
)
from .tagging import refit, tag
from .tags import BoundTags, Module, Node, SourceLine, Tags

if TYPE_CHECKING:
    from .api import Recorder as Recorder
    from .api import export_and_record as export_and_record
    from .api import export_and_tag as export_and_tag
    from .api import record as record
    from .reference import record_reference as record_reference

__all__ = ["BoundTags", "GateError", "HierarchyExporter", "Module", "Node", "ProgramError", "Recorder",
           "RecordingError", "RefitError", "SemanticMapper", "SemanticQueryInterface", "SourceLine", "Tags",
           "TagsError", "TracingHierarchyBuilder", "UnknownWord", "__version__", "export_and_record",
           "export_and_tag", "export_hf_model_with_semantics", "record", "record_reference", "refit", "tag"]
_NEED_TORCH = ("Recorder", "export_and_record", "export_and_tag", "record")


def __getattr__(name: str) -> Any:
    if name in _NEED_TORCH:
        from . import api
        return getattr(api, name)
    if name == "record_reference":
        from .reference import record_reference
        return record_reference
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
