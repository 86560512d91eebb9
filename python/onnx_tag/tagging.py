"""`tag` and `refit`: what `onnx-tag tag` and `python -m onnx_tag refit` do, from Python."""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Optional

from . import program
from .errors import GateError, TagsError
from .tags import PathLike, Tags

# They are for many models, or would leave nothing to return.
_NOT_HERE = ("dry_run", "exclude", "fail_fast", "files_from", "format", "include", "jobs", "json", "json_nodes",
             "keep_going", "progress", "quiet", "recursive", "skip_current")


def tag(model: PathLike, output: Optional[PathLike] = None, **options: Any) -> Tags:
    """Tags a model as `onnx-tag tag MODEL` does, and returns the tags.

    Writes `output` (by default model.tagged.onnx beside the model) and the sidecar model.tags.json. Options are those
    of the command, with `_` for `-`: `tag("m.onnx", in_place=True, strategy="htp", trace="m.recording.json",
    min_coverage=95)`; `sidecar_only=True` leaves the model alone. A gate that is not met raises GateError, which has
    the tags. Whatever the program refuses raises ProgramError.
    """
    for name in options:
        if name in _NOT_HERE:
            raise TagsError(f"tag() takes one model and has no option {name!r}; use the command: onnx-tag tag --help")
    path = os.fspath(model)
    if path.startswith("-"):
        path = os.path.join(".", path)
    with tempfile.TemporaryDirectory() as folder:
        kept = not options.pop("no_sidecar", False)
        if not kept:
            options["sidecar"] = os.path.join(folder, "model.tags.json")
        answer = program.run(["tag", path, "--json", *program.words(output=output, **options)])
        tags = Tags.load(json.loads(answer.out)["sidecar"])
        if not kept:
            tags = Tags(tags.document, path)
    if answer.code == 1:
        raise GateError(answer.err.strip(), tags)
    return tags


def refit(model: PathLike, new: Optional[PathLike] = None, was: Optional[PathLike] = None,
          output: Optional[PathLike] = None, **options: Any) -> List[Dict[str, Any]]:
    """Writes the weights of the checkpoint `new` into an exported model; `was` is the one it was exported from.

    Returns a row for each tensor: its fate (written, kept or refused), transform, parameters, module, bytes and why.
    Options are those of the command: `keep`, `partial`, `unproven`, `lora`, `strict`, `dry_run`, `force`. Refused
    tensors raise
    RefitError, which has these rows; nothing is written then, except with `partial`.
    """
    from .refitting.command import refit as make
    from .refitting.command import rows_of
    for name in options:
        if name not in ("dry_run", "force", "keep", "lora", "partial", "strict", "unproven"):
            raise TagsError(f"refit() has no option {name!r}; see python -m onnx_tag refit --help")
    if isinstance(options.get("keep"), str):
        options["keep"] = [options["keep"]]
    return rows_of(make(model, new, was, output, **options))
