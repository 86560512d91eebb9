"""`record`, `export_and_record` and `export_and_tag`: what a user calls once, for or beside the export."""
from __future__ import annotations

import inspect
import os
import platform
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple, Union

import torch

from . import document, program
from ._version import __version__
from .errors import OutputError
from .exporting import without_cache, without_unused_inputs
from .fx import Dump, fx_dump, program_dump
from .modules import module_map
from .outputs import Inputs, exported, judge
from .recorder import Recorder, alone
from .running import evaluating, run_recorded, twin
from .tagging import tag
from .tags import Tags
from .tracebacks import Tracebacks

if TYPE_CHECKING:
    from torch import nn


def _head() -> Dict[str, Any]:
    return {"format": document.FORMAT, "tool": {"name": "onnx_tag", "version": __version__, "torch": torch.__version__,
                                                "python": platform.python_version()}}


def _as_args(args: Any) -> Tuple[Any, ...]:
    """One tensor is one argument."""
    return (args,) if isinstance(args, torch.Tensor) else tuple(args)


@alone
def record(model: "nn.Module", args: Any = None, kwargs: Optional[Mapping[str, Any]] = None, *,
           path: Optional[document.PathLike] = None, fx: Union[bool, str] = False, run: str = "auto",
           force: bool = False) -> Dict[str, Any]:
    """Records what a model is and, given inputs, what it does; returns the recording and writes it to `path`.

    Without inputs: the module map. With `args` (a tensor, a sequence, or a mapping of keywords) or `kwargs`: also the
    execution trace of one run in eval mode, as an exporter would run it (`run="traced"`), or plainly (`run="eager"`);
    "auto" prefers the first. `fx=True` adds the FX graph, and warns if no tracer can follow the model;
    `fx="required"` raises then. A generating model is traced without its cache. The model is left as it was, also when
    its forward raises. An existing file that is no recording is replaced only with `force`.
    """
    if path is not None:
        judge(path, Inputs(), document.HEAD, force)
    recording = _head()
    if args is None and kwargs is None:
        if fx:
            raise document.RecordingError("fx=True needs inputs: record(model, args, fx=True)")
        recording["modules"] = module_map(model)
    else:
        positional, named = split_inputs(() if args is None else args, kwargs)
        recording.update(run_recorded(model, positional, named, run).document())
        if fx:
            copy = twin(model)
            with evaluating(copy), without_cache(copy, named):
                dump = fx_dump(copy, positional, named, required=fx == "required")
            if dump is not None:
                _add_fx(recording, dump)
    if path is not None:
        document.save(recording, path, force=force)
    return recording


def _add_fx(recording: Dict[str, Any], dump: Dump) -> None:
    recording["fx_source"], recording["fx"] = dump
    tracebacks = Tracebacks(recording.get("tracebacks", ()))
    for node in recording["fx"]:
        number = tracebacks.add(node.pop("stack_trace", None))
        if number is not None:
            node["traceback"] = number
    if tracebacks.texts:
        recording["tracebacks"] = tracebacks.texts


@alone
def export_and_record(model: "nn.Module", inputs: Any, onnx_path: document.PathLike, *, dynamo: bool = True,
                      kwargs: Optional[Mapping[str, Any]] = None, path: Optional[document.PathLike] = None,
                      fx: Union[bool, str] = False, run: str = "auto", force: bool = False,
                      **export_options: Any) -> Dict[str, Any]:
    """torch.onnx.export and `record` in one go: both see the same model and the same inputs.

    `inputs` are positional (a tensor or a sequence) or a mapping of keywords. The recording is written to `path`, by
    default beside the model: m.onnx gives m.recording.json. With `dynamo=True` its FX section is the very graph that
    was translated. `export_options` go to torch.onnx.export. Existing files are replaced if they are a recording and a
    model that torch exported; others only with `force`.
    """
    args, named = split_inputs(inputs, kwargs)
    output = path if path is not None else recording_path(str(onnx_path))
    if os.path.realpath(output) == os.path.realpath(onnx_path):
        raise OutputError(f"{os.fspath(output)}: is the name of the model, too\n  give the recording another name")
    judge(output, Inputs(), document.HEAD, force)
    with exported(onnx_path, force) as staged, without_cache(model, named):
        recording = record(model, args, named, fx=False if dynamo else fx, run=run)
        with evaluating(model):
            if dynamo:
                exported_program = torch.onnx.export(model, args, staged, kwargs=named, dynamo=True, **export_options)
                translated = getattr(exported_program, "exported_program", None)
                if translated is not None:
                    _add_fx(recording, program_dump(translated, "torch.onnx"))
            else:
                with without_unused_inputs(model, args, named) as (given, names):
                    export_options.setdefault("input_names", names)
                    torch.onnx.export(model, given, staged, **_torchscript_option(), **export_options)
    document.save(recording, output, force=force)
    return recording


def export_and_tag(model: "nn.Module", inputs: Any, onnx_path: document.PathLike, *, dynamo: bool = True,
                   kwargs: Optional[Mapping[str, Any]] = None, fx: Union[bool, str] = False, run: str = "auto",
                   force: bool = False, tag_options: Optional[Mapping[str, Any]] = None, **export_options: Any) -> Tags:
    """torch.onnx.export, `record` and `tag` in one call.

    The model at `onnx_path` has the tags in it: m.onnx. Beside it are the tags as JSON, m.tags.json, and the
    recording, m.recording.json. `tag_options` go to `onnx_tag.tag`, `export_options` to torch.onnx.export; all else is
    as for `export_and_record`.
    """
    program.find()                                          # a long export is in vain without it
    recording = export_and_record(model, inputs, onnx_path, dynamo=dynamo, kwargs=kwargs, fx=fx, run=run,
                                  force=force, **export_options)
    path = recording_path(str(onnx_path))
    facts = {"hierarchy": path, **({"trace": path} if recording.get("events") else {})}
    return tag(onnx_path, **{"in_place": True, "force": force, **facts, **(tag_options or {})})


def split_inputs(inputs: Any, kwargs: Optional[Mapping[str, Any]]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), {**inputs, **(kwargs or {})}
    return _as_args(inputs), dict(kwargs or {})


def recording_path(onnx_path: str) -> str:
    stem = onnx_path[:-len(".onnx")] if onnx_path.endswith(".onnx") else onnx_path
    return stem + ".recording.json"


def _torchscript_option() -> Dict[str, Any]:
    """torch before 2.5 has only one exporter and no option to choose it."""
    return {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}


__all__ = ["Recorder", "export_and_record", "export_and_tag", "record", "recording_path"]
