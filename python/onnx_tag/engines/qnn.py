"""Cycles that Qualcomm's backend counted: the table of ONNX Runtime's provider (profiling_level=detailed,
profiling_file_path), and its trace of operators."""
from __future__ import annotations

import csv
import io
import json
import re
from typing import Any, Dict, List, Tuple

from ..errors import InputError, TagsError

Rows = List[Tuple[str, Tuple[float, ...]]]
_OPERATOR = re.compile(r"(.+?)[ \t:]*OpId_\d+[^,]*\(cycles\)")
_TIME = "Accelerator (execute) time"


def read(text: str, options: Dict[str, Any]) -> Rows:
    if not text.lstrip().startswith("Msg Timestamp,Message,Time,"):
        raise InputError("not a report of QNN: it has no head Msg Timestamp,Message,Time,...")
    operators = _read_trace(options["op_trace"]) if options.get("op_trace") else {}
    runs: List[Dict[str, Any]] = [_new_run(0.0)]
    for cells in csv.reader(io.StringIO(text)):
        if len(cells) < 7 or cells[0] == "Msg Timestamp":   # the file is appended to: its head may come again
            continue
        found = _OPERATOR.fullmatch(cells[6])
        if found:
            nodes = [node for node in (cells[7] if len(cells) > 7 else "").split(";") if node]
            runs[-1]["rows"].append((operators.get(found[1]) or nodes or [found[1]], float(cells[2])))
        elif cells[5] == "ROOT" and cells[6] == f"{_TIME} (cycles)":
            runs.append(_new_run(float(cells[2])))
        elif cells[5] == "ROOT" and cells[6] == _TIME:
            runs[-1]["microseconds"] = float(cells[2])
    runs = [run for run in runs if run["rows"]]
    skip = int(options.get("skip_runs") or 0)
    if skip and skip >= len(runs):
        raise TagsError(f"--skip-runs {skip}: the report has only {len(runs)} runs")
    times: Dict[str, float] = {}
    for run in runs[skip:]:
        if not (run["cycles"] > 0 and run["microseconds"] > 0):
            raise InputError(f"a run has no row '{_TIME}' in cycles or in microseconds, so its cycles cannot be turned "
                             "into times")
        # cycles are not microseconds: the run's time is divided by them
        for nodes, cycles in run["rows"]:
            for node in nodes:
                times[node] = times.get(node, 0.0) + cycles * run["microseconds"] / run["cycles"] / len(nodes)
    return [(node, (time,)) for node, time in times.items()]


def _new_run(cycles: float) -> Dict[str, Any]:
    return {"rows": [], "cycles": cycles, "microseconds": 0.0}


def _read_trace(text: str) -> Dict[str, List[str]]:
    """By operator: the nodes that it was made of."""
    try:
        traces = json.loads(text)["subgraph_traces"]
        operators = {row["dst_name"]: _sources(row) for trace in traces for row in trace.get("op_mappings", ())}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"not the trace of QNN's operators (qnn_op_trace.json): {error}") from None
    return operators


def _sources(row: Dict[str, Any]) -> List[str]:
    kind = row.get("dst_qnn_op_type") or "\0"
    nodes = [source["name"] for source in row.get("sources", ()) if source.get("type") == "OP"]
    # ONNX Runtime's own Reshapes around a Gemm, and others that it names after their operator, are none of the model.
    own = [node for node in nodes if not node.startswith(("gemm_input_reshape", "gemm_output_reshape",
                                                          f"{kind}_token_"))
           and node != kind]
    return own or nodes
