"""python -m onnx_tag: see --help."""
from __future__ import annotations

import argparse
import os
import sys
import warnings
from typing import List, Optional

from . import adapter, agents, compare, engines, program, reference_command, rename_weights, weight_names
from ._version import __version__
from .document import RecordingError
from .errors import ProgramError, TagsError, printable
from .outputs import Inputs, judge
from .refitting import command as refit_command
from .user_function import call, source_file

DESCRIPTION = ("Records the modules and operations of a PyTorch model, for onnx-tag. "
               "Other commands go to the program: python -m onnx_tag show model.onnx is onnx-tag show model.onnx.")
EXAMPLES = """examples:
  python -m onnx_tag record my_models:tiny_bert -o bert.recording.json
  python -m onnx_tag record export.py:make --fx -o recording.json
  python -m onnx_tag record export.py:make --export model.onnx --exporter dynamo

The function takes no arguments and returns the model, (model, inputs) or (model, args, kwargs).
The inputs are a tensor, a sequence of positional arguments, or a mapping of keyword arguments.

then:
  onnx-tag model.onnx --recording recording.json
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
    record.add_argument("--force", action="store_true", help="replace existing files of any kind")
    record.add_argument("--export", metavar="MODEL.onnx", help="also export the model")
    record.add_argument("--exporter", choices=("dynamo", "torchscript"), default="dynamo")
    reference_command.add_parser(commands, formatter)
    compare.add_parser(commands, formatter)
    adapter.add_parser(commands, formatter)
    refit_command.add_parser(commands, formatter)
    engines.add_parser(commands, formatter)
    agents.add_parser(commands, formatter)
    weight_names.add_parser(commands, formatter)
    rename_weights.add_parser(commands, formatter)
    return top


def run_record(options: argparse.Namespace) -> str:
    """Returns the line to print."""
    from . import api
    model, args, kwargs = call(options.source)
    force = options.force
    fx = "required" if options.fx else False
    inputs = Inputs()
    inputs.add(source_file(options.source), "the function's module")
    for output in (options.output, options.export):
        if output is not None and inputs.find(output):
            judge(output, inputs)
    if options.modules_only or args is None:
        if options.fx or options.export:
            raise RecordingError("--fx and --export need inputs: return (model, inputs) from the function"
                                 if args is None else "--modules-only cannot be used with --fx or --export")
        output = options.output or "recording.json"
        recording = api.record(model, path=output, force=force)
    elif options.export:
        output = options.output or api.recording_path(options.export)
        recording = api.export_and_record(model, args, options.export, kwargs=kwargs, path=output, run=options.run,
                                          dynamo=options.exporter == "dynamo", fx=fx, force=force)
    else:
        output = options.output or "recording.json"
        recording = api.record(model, args, kwargs, path=output, fx=fx, run=options.run, force=force)
    parts = [f"{len(recording['modules'])} modules"]
    if "events" in recording:
        parts.append(f"{len(recording['events'])} operations ({recording['run']['mode']})")
    if "fx" in recording:
        parts.append(f"{len(recording['fx'])} FX nodes ({recording['fx_source']['tracer']})")
    return f"{output}: {', '.join(parts)}\n  use it: onnx-tag MODEL --recording {output}"


def is_for_program(words: List[str], top: argparse.ArgumentParser) -> bool:
    """All but the commands of this module, and its own help and version."""
    own = [name for action in top._subparsers._group_actions for name in action.choices]    # type: ignore
    return bool(words) and words[0] not in ("-h", "--help", "--version", *own)


def complain(error: BaseException) -> None:
    lines = str(error).split("\n")
    print("onnx_tag: " + "\n".join(printable(line) for line in lines), file=sys.stderr)


def blame(error: Exception, options: argparse.Namespace) -> int:
    """An error in the user's code, or inputs that do not fit it."""
    import traceback
    if options.command == "record":
        traceback.print_exc()
        print(f"onnx_tag: {options.source}: {type(error).__name__} while the model was built or run; nothing written",
              file=sys.stderr)
        return 1
    source = getattr(options, "source", None) or options.a
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not any(f"{os.sep}{name}{os.sep}" in frame.filename for name in ("torch", "onnx_tag", "importlib"))]
    place = f" ({frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    said = (str(error).strip().splitlines() or [""])[0][:300]
    complain(TagsError(f"{source}: {type(error).__name__} while the model was built or run: {said}{place}\n"
                       "  nothing written; do the inputs fit the model?"))
    return 3


def open_closed_streams() -> None:
    """A standard stream that is closed leads nowhere; else the next file that is opened takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))   # noqa: SIM115


def main(argv: Optional[List[str]] = None) -> int:
    open_closed_streams()
    top = parser()
    words = sys.argv[1:] if argv is None else argv
    if is_for_program(words, top):
        try:
            path = program.find()
            os.execv(path, [path, *words])
        except ProgramError as error:
            complain(error)
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
        if options.command == "reference":
            print(reference_command.run(options))
            return 0
        if options.command == "refit":
            return refit_command.run(options)
        if options.command == "report-table":
            return engines.run(options)
        if options.command == "check-weights":
            return weight_names.run(options)
        if options.command == "rename-weights":
            return rename_weights.run(options)
        if options.command == "mcp":
            return agents.run()
        if options.command == "adapter":
            print(adapter.run(options))
            return 0
        print(run_record(options))
    except (RecordingError, TagsError) as error:
        complain(error)
        code = getattr(error, "exit_code", 2)
        # 1 means that a comparison has findings, or that a model could not be recorded.
        return code if code in (3, 4) or (code == 1 and options.command == "record") else 2
    except OSError as error:
        complain(error)
        return 4
    except Exception as error:                              # an error in the user's code
        return blame(error, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
