"""python -m onnx_tag: see --help."""
from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import warnings
from typing import Any, Callable, List, Mapping, Optional, Tuple

from . import compare, program
from ._version import __version__
from .document import RecordingError
from .errors import ProgramError, TagsError

DESCRIPTION = ("Records what a PyTorch model is and does, for onnx-tag. "
               "Other commands go to the program: python -m onnx_tag show model.onnx is onnx-tag show model.onnx.")
EXAMPLES = """examples:
  python -m onnx_tag record my_models:tiny_bert -o bert.recording.json
  python -m onnx_tag record export.py:make --fx -o recording.json
  python -m onnx_tag record export.py:make --export model.onnx --exporter dynamo

The function takes no arguments and returns the model, (model, inputs) or (model, args, kwargs).
The inputs are a tensor, a sequence of positional arguments, or a mapping of keyword arguments.

then:
  onnx-tag model.onnx --hierarchy recording.json
  onnx-tag model.onnx --strategy htp --trace recording.json
  onnx-tag model.onnx --strategy fx_graph --fx recording.json
"""


def parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="python -m onnx_tag", description=DESCRIPTION, epilog=EXAMPLES,
                                  formatter_class=formatter)
    top.add_argument("--version", action="version", version=f"onnx_tag {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    record = commands.add_parser("record", help="write a recording", epilog=EXAMPLES, formatter_class=formatter,
                                 description="Calls your function to build a model, and writes its recording.")
    record.add_argument("source", metavar="MODULE:FUNCTION", help="a module or a .py file, and a function in it")
    record.add_argument("-o", "--output", metavar="FILE",
                        help="output file; default: recording.json, or beside the exported model")
    record.add_argument("--modules-only", action="store_true", help="record only the module map; do not run the model")
    record.add_argument("--fx", action="store_true",
                        help="also record the FX graph, with torch.export or symbolic tracing")
    record.add_argument("--run", choices=("auto", "traced", "eager"), default="auto",
                        help="traced: as in an exporter; eager: a plain run; auto: traced if possible, else eager")
    record.add_argument("--export", metavar="MODEL.onnx", help="also export the model")
    record.add_argument("--exporter", choices=("dynamo", "torchscript"), default="dynamo")
    compare.add_parser(commands, formatter)
    return top


def load_function(source: str) -> Callable[[], Any]:
    """`package.module:function` or `folder/file.py:function`."""
    where, colon, name = source.rpartition(":")
    if not colon or not where or not name:
        raise RecordingError(f"{source!r} is not MODULE:FUNCTION, for example my_models:tiny_bert or export.py:make")
    sys.path.insert(0, os.getcwd())
    if where.endswith(".py"):
        if not os.path.exists(where):
            raise RecordingError(f"{where}: no such file")
        sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
        where = os.path.splitext(os.path.basename(where))[0]
    try:
        module = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise RecordingError("torch is not installed in this Python; use the Python that exports the model"
                                 ) from None
        raise RecordingError(f"{where}: {error}") from None
    target: Any = module
    for part in name.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        functions = ", ".join(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
        raise RecordingError(f"{where} has no function {name!r}; it has: {functions[:200] or 'none'}")
    return target                                           # type: ignore[no-any-return]


def split(made: Any) -> Tuple[Any, Optional[Tuple[Any, ...]], Mapping[str, Any]]:
    """Splits the result of the function into (model, positional arguments or None, keyword arguments)."""
    import torch

    from .api import split_inputs
    if isinstance(made, torch.nn.Module):
        return made, None, {}
    if not isinstance(made, tuple) or not 2 <= len(made) <= 3 or not isinstance(made[0], torch.nn.Module):
        raise RecordingError("the function must return a torch.nn.Module, (model, inputs) or (model, args, kwargs), "
                             f"not {type(made).__name__}")
    return (made[0], *split_inputs(made[1], made[2] if len(made) == 3 else None))


def run_record(options: argparse.Namespace) -> str:
    """Returns the line to print."""
    from . import api
    model, args, kwargs = split(load_function(options.source)())
    if options.modules_only or args is None:
        if options.fx or options.export:
            raise RecordingError("--fx and --export need inputs: return (model, inputs) from the function"
                                 if args is None else "--modules-only cannot be used with --fx or --export")
        output = options.output or "recording.json"
        recording = api.record(model, path=output)
    elif options.export:
        output = options.output or api.recording_path(options.export)
        recording = api.export_and_record(model, args, options.export, kwargs=kwargs, path=output, run=options.run,
                                          dynamo=options.exporter == "dynamo", fx=options.fx)
    else:
        output = options.output or "recording.json"
        recording = api.record(model, args, kwargs, path=output, fx=options.fx, run=options.run)
    parts = [f"{len(recording['modules'])} modules"]
    if "events" in recording:
        parts.append(f"{len(recording['events'])} operations ({recording['run']['mode']})")
    if "fx" in recording:
        parts.append(f"{len(recording['fx'])} FX nodes ({recording['fx_source']['tracer']})")
    return f"{output}: {', '.join(parts)}"


def is_for_program(words: List[str], top: argparse.ArgumentParser) -> bool:
    """All but the commands of this module, and its own help and version."""
    own = [name for action in top._subparsers._group_actions for name in action.choices]    # type: ignore
    return bool(words) and words[0] not in ("-h", "--help", "--version", *own)


def main(argv: Optional[List[str]] = None) -> int:
    top = parser()
    words = sys.argv[1:] if argv is None else argv
    if is_for_program(words, top):
        try:
            path = program.find()
            os.execv(path, [path, *words])
        except ProgramError as error:
            print(f"onnx_tag: {error}", file=sys.stderr)
        except OSError as error:
            print(f"onnx_tag: {path}: {error.strerror}", file=sys.stderr)
        return 2
    options = top.parse_args(words)
    if options.command is None:
        top.print_help(sys.stderr)
        return 2
    warnings.showwarning = lambda message, *_, **__: print(f"onnx_tag: {message}", file=sys.stderr)
    try:
        if options.command == "compare":
            return compare.run(options)
        print(run_record(options))
    except (RecordingError, TagsError) as error:
        print(f"onnx_tag: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"onnx_tag: {error}", file=sys.stderr)
        return 4
    except Exception as error:                              # an error in the user's code
        import traceback
        traceback.print_exc()
        source = getattr(options, "source", options.command)
        print(f"onnx_tag: {source}: {type(error).__name__} while the model was built or run; nothing written",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
