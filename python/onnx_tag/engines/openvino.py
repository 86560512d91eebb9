"""Times that OpenVINO measured, in three forms: the table of `benchmark_app -report_type detailed_counters`, the
execution graph
of `-exec_graph_path`, and get_profiling_info() as JSON."""
from __future__ import annotations

import csv
import io
import json
from typing import Any, Dict, List, Tuple
from xml.parsers import expat

from ..errors import InputError

Rows = List[Tuple[str, Tuple[float, ...]]]


def read(text: str, _options: Dict[str, Any]) -> Rows:
    start = text.lstrip()[:1]
    return _read_graph(text) if start == "<" else _read_list(text) if start == "[" else _read_table(text)


def _read_table(text: str) -> Rows:
    if "layerName;execStatus;" not in text[:1000]:
        raise InputError("not a report of OpenVINO: it has no head layerName;execStatus;...")
    rows: Rows = []
    for cells in csv.reader(io.StringIO(text), delimiter=";", quoting=csv.QUOTE_NONE):
        if len(cells) >= 5 and cells[1].endswith("EXECUTED"):    # rows without a status are totals
            rows.append((cells[0], (float(cells[4]) * 1000,)))
    return rows


def _read_list(text: str) -> Rows:
    return [(row["node_name"], (float(row["real_time"]),)) for row in json.loads(text)
            if str(row.get("status", "")).endswith("EXECUTED")]


def _read_graph(text: str) -> Rows:
    """The time of a kernel that was made of several nodes is divided equally among them."""
    rows: Rows = []
    layer = [""]

    def begin(tag: str, attributes: Dict[str, str]) -> None:
        if tag == "layer":
            layer[0] = attributes.get("name", "")
        said = attributes.get("execTimeMcs", "") if tag == "data" else ""
        if said and said != "not_executed":
            nodes = [name for name in attributes.get("originalLayersNames", "").split(",") if name] or [layer[0]]
            rows.extend((name, (float(said) / len(nodes),)) for name in nodes)

    def refuse(*_: Any) -> None:
        raise InputError("its XML declares entities")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = begin, refuse
    try:
        parser.Parse(text.encode("utf-8", "surrogateescape"), True)
    except expat.ExpatError as error:
        raise InputError(f"not XML: {error}") from None
    return rows
