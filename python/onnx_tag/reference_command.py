"""`python -m onnx_tag reference`."""
from __future__ import annotations

import argparse
import re
from typing import Any

from .arrays import read_npz
from .compare import model_inputs
from .document import RecordingError
from .outputs import Inputs, judge
from .reference import HEAD, record_reference
from .user_function import call, source_file

DESCRIPTION = """Runs a PyTorch model once and writes what its modules give: statistics and samples of every output, and
whole tensors on request. python -m onnx_tag compare needs the file and no PyTorch."""
EXAMPLES = """examples:
  python -m onnx_tag reference my_package.model:build --inputs x.npz -o run.ref
  python -m onnx_tag reference export.py:make -o run.ref --module 'encoder.**' --tensors '**.attention'
  python -m onnx_tag compare run.ref model.int8.onnx

The function takes no arguments and returns the model, (model, inputs) or (model, args, kwargs).

exit codes: 0 written; 2 wrong usage; 3 the model could not be built or run, or a file cannot be read;
4 the file could not be written
"""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d{1,9})([KMG]?)", text.upper())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 2G")
    return int(match[1]) * _UNITS[match[2]]


def add_parser(commands: Any, formatter: Any) -> None:
    """The command line of `reference`."""
    parser = commands.add_parser("reference", help="write the outputs of the modules of a PyTorch model, for compare",
                                 description=DESCRIPTION, epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("source", metavar="MODULE:FUNCTION", help="a module or a .py file, and a function in it")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="output file")
    parser.add_argument("--inputs", metavar="X.npz", help="arrays by argument; default: from the function")
    parser.add_argument("--module", metavar="GLOB", action="append", default=[],
                        help="record these modules only; * is within a name, ** crosses dots")
    parser.add_argument("--tensors", metavar="GLOB", action="append", nargs="?", const="**", default=[],
                        help="store the outputs of these modules whole; without GLOB of all")
    parser.add_argument("--max-size", metavar="SIZE", type=_size, default=_size("1G"),
                        help="most bytes of arrays in the file, such as 500M; default 1G")
    parser.add_argument("--force", action="store_true", help="replace an existing file of any kind")


def run(options: argparse.Namespace) -> str:
    """Returns the line to print."""
    files = Inputs()
    files.add(options.inputs, "--inputs")
    judge(options.output, files, HEAD, options.force)
    given = read_npz(options.inputs) if options.inputs else None
    model, args, kwargs = call(options.source)
    files.add(source_file(options.source), "the function's module")
    if given is not None:
        args, kwargs = model_inputs(model, given)
    elif args is None:
        raise RecordingError(f"{options.source} returns no inputs: give them with --inputs, or return (model, inputs)")
    tensors = [*options.tensors, *([""] if "**" in options.tensors else [])]
    document = record_reference(model, args, options.output, kwargs=kwargs, modules=options.module, tensors=tensors,
                                max_size=options.max_size, force=options.force, source=options.source, files=files)
    outputs = document["outputs"]
    whole = sum(row["tensor"] is not None for row in outputs)
    text = f"{options.output}: {len(outputs)} outputs of {len({row['module'] for row in outputs})} modules"
    text += f", {whole} of them whole" if whole else ""
    return text + (f"; {document['left_out']} arrays left out (--max-size)" if document["left_out"] else "")
