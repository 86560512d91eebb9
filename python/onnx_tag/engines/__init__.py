"""`python -m onnx_tag report-table`: what an engine measured, as NODE<tab>NUMBER. The program sums it by module.

A new engine is one function from the text of its report (and an option) to rows: names of nodes, numbers in one
order. It is a
row of ENGINES.
"""
from __future__ import annotations

import argparse
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

from ..errors import InputError, OutputError, TagsError
from ..outputs import Inputs, judge, write
from . import onnxruntime, openvino, qnn

DESCRIPTION = """Reads the report of an engine and writes NODE<tab>NUMBER: lines that onnx-tag profile, report and
split take
from a file or from standard input."""
EXAMPLES = """examples:
  python -m onnx_tag report-table openvino benchmark_detailed_counters_report.csv -o times.tsv
  python -m onnx_tag report-table qnn profile.csv --op-trace qnn_op_trace.json | onnx-tag profile model.onnx -
  python -m onnx_tag report-table onnxruntime onnxruntime_profile.json --skip-runs 1 -o spread.tsv
  onnx-tag profile model.onnx spread.tsv --measure p90

exit codes: 0 written; 2 wrong usage; 3 a report cannot be read; 4 the file could not be written
"""
Rows = List[Tuple[str, Tuple[float, ...]]]


class Engine(NamedTuple):
    help: str
    heads: Tuple[str, ...]                                  # of the columns of numbers
    read: Callable[[str, Dict[str, Any]], Rows]


ENGINES = {
    "openvino": Engine("counters of OpenVINO: CSV, JSON or XML; microseconds", ("time_us",), openvino.read),
    "qnn": Engine("CSV of ONNX Runtime's QNN provider; microseconds, by cycles", ("time_us",), qnn.read),
    "onnxruntime": Engine("percentiles over the runs of a profile of ONNX Runtime; microseconds",
                          ("p10", "p50", "p90", "max", "mean"), onnxruntime.read),
}


def add_parser(commands: Any, formatter: Any) -> None:
    names = "\n".join(f"  {name:12} {engine.help}" for name, engine in ENGINES.items())
    parser = commands.add_parser("report-table", help="turn an engine's report into NODE<tab>NUMBER",
                                 formatter_class=formatter,
                                 description=f"{DESCRIPTION}\n\nengines:\n{names}", epilog=EXAMPLES)
    parser.add_argument("engine", metavar="ENGINE", choices=sorted(ENGINES), help=", ".join(ENGINES))
    parser.add_argument("file", metavar="FILE", help="the report")
    parser.add_argument("--op-trace", metavar="FILE",
                        help="qnn: qnn_op_trace.json, which says what operators were made of")
    parser.add_argument("--skip-runs", metavar="N", type=int, default=0,
                        help="qnn, onnxruntime: ignore the first N runs")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: standard output")
    parser.add_argument("-f", "--force", action="store_true", help="replace an existing file of any kind")


def read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def table(engine: str, path: str, **options: Any) -> str:
    """The lines for the program."""
    about = ENGINES[engine]
    given = {key: read_text(value) if key == "op_trace" and value else value for key, value in options.items()}
    try:
        rows = about.read(read_text(path), given)
    except (InputError, TagsError) as error:
        raise type(error)(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise InputError(f"{path}: not a report of {engine}: {error}") from None
    if not rows:
        raise InputError(f"{path}: a report of {engine} in which nothing ran")
    for name, numbers in rows:
        if not all(0 <= number <= 1e12 for number in numbers):
            raise InputError(f"{path}: {name[:200]!r} has the impossible time {numbers[0]}")
    lines = ["node\t" + "\t".join(about.heads)]
    lines += [f"{cell(name)}\t" + "\t".join(f"{number:.6f}".rstrip("0").rstrip(".") for number in numbers)
              for name, numbers in rows]
    return "\n".join(lines) + "\n"


def cell(name: str) -> str:
    """A name may have a tab or a line break; no line of a table may."""
    return "".join("_" if c in "\t\n\r" else c for c in name) or "_"


def run(options: argparse.Namespace) -> int:
    if options.op_trace and options.engine != "qnn":
        raise TagsError("--op-trace requires a report of qnn")
    if options.skip_runs < 0 or (options.skip_runs and options.engine == "openvino"):
        raise TagsError("--skip-runs requires a report of qnn or onnxruntime, and a number from 0")
    inputs = Inputs()
    inputs.add(options.file, "the report")
    inputs.add(options.op_trace, "--op-trace")
    head = f"node\t{ENGINES[options.engine].heads[0]}".encode()
    if options.output:
        judge(options.output, inputs, head, options.force)
    else:
        inputs.refuse_standard_output()
    text = table(options.engine, options.file, op_trace=options.op_trace, skip_runs=options.skip_runs)
    data = text.encode("utf-8", "surrogateescape")
    if options.output:
        write(options.output, data, inputs, head, options.force)
        print(f"{options.output}: {text.count(chr(10)) - 1} rows")
        return 0
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open("/dev/null", "w")                 # noqa: SIM115 - the reader left
    except OSError as error:
        raise OutputError(f"standard output: {error.strerror}") from None
    return 0


def names_of(engines: Sequence[str] = ()) -> List[str]:
    return [name for name in ENGINES if not engines or name in engines]
