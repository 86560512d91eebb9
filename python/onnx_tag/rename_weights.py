"""`rename-weights`: the model with each initializer under the name of its parameter. `onnx-tag strip` undoes it."""

from __future__ import annotations

import argparse
import collections
import json
import os
from typing import Any, Counter, Dict, Iterator, List, Set, Tuple

from . import outputs, program
from .errors import InputError, OutputError, TagsError, printable
from .onnx_file import external_files

DESCRIPTION = """Writes the model with each initializer under the name of its parameter. Merged tensors have all names,
joined by +; quantized ones end in _quantized, _scale and _zero_point. onnx-tag strip gives the old names back. Needs
the package onnx."""
EXAMPLES = """examples:
  python -m onnx_tag rename-weights model.onnx
  python -m onnx_tag rename-weights model.onnx -o renamed.onnx --json
"""
_SUFFIX = {"quantized": "_quantized", "scale": "_scale", "zero_point": "_zero_point"}
_RENAMED, _LAYOUT = "pkg.onnx_tag.renamed", "pkg.onnx_tag.layout"


def add_parser(commands: Any, formatter: Any) -> None:
    parser = commands.add_parser(
        "rename-weights",
        help="give initializers the names of their parameters",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=formatter,
    )
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="default: MODEL.renamed.onnx, beside the weights of MODEL"
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace a file of any kind")
    parser.add_argument("--strict", action="store_true", help="refuse if a name has low confidence")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    stem = options.model[: -len(".onnx")] if options.model.endswith(".onnx") else options.model
    output = options.output or stem + ".renamed.onnx"
    rows = json.loads(program.run(["weights", options.model, "--json", *(["--strict"] if options.strict else [])]).out)[
        "weights"
    ]
    model = _load(options.model)
    renames, refused = rename(model, rows)
    files = outputs.Inputs()
    files.add_model(options.model, "the model")
    folders = [os.path.realpath(os.path.dirname(path) or ".") for path in (options.model, output)]
    if external_files(options.model) and folders[0] != folders[1]:
        raise OutputError(
            f"{output}: the weights are beside {options.model}, which a model in another folder cannot find\n"
            "  write the output beside the model"
        )
    outputs.write(output, model.SerializeToString(), files, force=options.force)
    if options.json:
        print(
            json.dumps(
                {
                    "file": options.model,
                    "output": output,
                    "refused": refused,
                    "renamed": [{"from": old, "to": new} for old, new in renames.items()],
                }
            )
        )
        return 0
    print(printable(f"{options.model}: {len(renames)} of {len(rows)} initializers renamed"))
    for name, why in refused.items():
        print(printable(f"  {name} keeps its name: {why}"))
    print(printable(f"  wrote {output}"))
    return 0


def _load(path: str) -> Any:
    try:
        import onnx
    except ImportError:
        raise TagsError("rename-weights needs the package onnx\n  pip install onnx") from None
    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:
        raise InputError(f"{path}: not an ONNX model: {error}") from None
    for entry in model.metadata_props:
        if entry.key in (_RENAMED, _LAYOUT):
            raise OutputError(
                f"{path}: {'was renamed before' if entry.key == _RENAMED else 'has padded lengths'}\n"
                f"  restore the original first: onnx-tag strip {path}"
            )
    return model


def rename(model: Any, rows: List[Dict[str, Any]]) -> "Tuple[Dict[str, str], Dict[str, str]]":
    """Renames in place. The new names by old ones, and why others stay."""
    defined, annotated = _names(model)
    results = {value.name for value in model.graph.output}
    made = {name for graph in _graphs(model.graph) for node in graph.node for name in node.output}
    taken = set(defined)
    renames: Dict[str, str] = {}
    refused: Dict[str, str] = {}
    for row in rows:
        old = row["initializer"]
        if (
            not row["parameters"]
            or row["confidence"] == "low"
            or any(old.startswith(name) for name in row["parameters"])
        ):
            continue
        why = (
            "it is an output of the graph"
            if old in results
            else "graphs for training may mention it"
            if model.training_info
            else "a node makes it, too"
            if old in made
            else "several values have its name"
            if defined[old] != 1
            else "a quantization annotation mentions it"
            if old in annotated
            else ""
        )
        if why:
            refused[old] = why
            continue
        wanted = "+".join(row["parameters"][:1] if row["change"] == "tied" else row["parameters"])
        wanted += _SUFFIX.get(row["change"], "")
        new, count = wanted, 1
        while new in taken:
            count += 1
            new = f"{wanted}~{count}"
        taken.add(new)
        renames[old] = new
    for graph in _graphs(model.graph):
        for node in graph.node:
            for place, name in enumerate(node.input):
                node.input[place] = renames.get(name, name)
        for value in (*graph.input, *graph.value_info, *graph.initializer):
            value.name = renames.get(value.name, value.name)
    if renames:
        entry = model.metadata_props.add()
        entry.key, entry.value = _RENAMED, json.dumps({new: old for old, new in renames.items()})
    return renames, refused


def _graphs(graph: Any) -> Iterator[Any]:
    """The graph and those inside its nodes; bodies of functions have names of their own."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in ((attribute.g,) if attribute.HasField("g") else ()) + tuple(attribute.graphs):
                yield from _graphs(inner)


def _names(model: Any) -> "Tuple[Counter[str], Set[str]]":
    """How many values have each name, and those of quantization annotations."""
    defined: Counter[str] = collections.Counter()
    annotated: Set[str] = set()
    for graph in _graphs(model.graph):
        names = {value.name for value in (*graph.input, *graph.initializer)} | {
            one.values.name for one in graph.sparse_initializer
        }
        names |= {name for node in graph.node for name in node.output}
        defined.update(names)
        for annotation in graph.quantization_annotation:
            annotated |= {annotation.tensor_name} | {entry.value for entry in annotation.quant_parameter_tensor_names}
    return defined, annotated
