"""Reports of engines become tables, and a damaged report is one line."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from onnx_tag import engines
from onnx_tag.__main__ import main
from onnx_tag.errors import InputError, TagsError

QNN = ("Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n"
       "UNKNOWN,EXECUTE,8000,CYCLES,BACKEND,ROOT,Accelerator (execute) time (cycles)\n"
       "UNKNOWN,EXECUTE,400,US,BACKEND,ROOT,Accelerator (execute) time\n"
       "UNKNOWN,NODE,6000,CYCLES,BACKEND,SUB-EVENT,/a/Div_2:OpId_24 (cycles)\n"
       "UNKNOWN,NODE,2000,CYCLES,BACKEND,SUB-EVENT,\"In,put OpId_2 (cycles)\"\n"
       "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier\n"
       "UNKNOWN,EXECUTE,1000,CYCLES,BACKEND,ROOT,Accelerator (execute) time (cycles)\n"
       "UNKNOWN,NODE,500,CYCLES,BACKEND,SUB-EVENT,/a/Div_2:OpId_24 (cycles)\n"
       "UNKNOWN,EXECUTE,100,US,BACKEND,ROOT,Accelerator (execute) time\n")
TRACE = {"subgraph_traces": [{"op_mappings": [{"dst_name": "/a/Div_2", "dst_qnn_op_type": "Gelu", "sources": [
    {"name": "/a/Div", "type": "OP"}, {"name": "/a/Erf", "type": "OP"}, {"name": "gemm_input_reshape_token_2",
        "type": "OP"},
    {"name": "Gelu_token_1", "type": "OP"}, {"name": "/a/Div_output_0", "type": "TENSOR"}]}]}]}
GRAPH = ('<?xml version="1.0"?><net><layers>'
         '<layer name="x" type="F"><data execTimeMcs="23" originalLayersNames="a&lt;b,c"/></layer>'
         '<layer name="y&amp;" type="Add"><data execTimeMcs="4" originalLayersNames=""/></layer>'
         '<layer name="z" type="Const"><data execTimeMcs="not_executed"/></layer></layers></net>')
COUNTERS = ("layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\r\n"
            "a/MatMul;Status.EXECUTED;FullyConnected;acl_f16;0.023;0.023\r\nb;Status.NOT_RUN;Const;x;9.000;9.000\r\n"
            "c;EXECUTED;Add;jit;1.5;1.5\r\nTotal;;;;1.523;1.523\r\n")


def rows(engine: str, path: Path, text: str, **options: Any) -> Dict[str, List[float]]:
    path.write_text(text, newline="")
    lines = engines.table(engine, str(path), **options).splitlines()[1:]
    return {line.split("\t")[0]: [float(cell) for cell in line.split("\t")[1:]] for line in lines}


@pytest.mark.parametrize("text, want", [
    (COUNTERS, {"a/MatMul": [23], "c": [1500]}), (GRAPH, {"a<b": [11.5], "c": [11.5], "y&": [4]}),
    ('[{"node_name": "a", "status": "Status.EXECUTED", "real_time": 7}, {"node_name": "b", "status": "NOT_RUN"}]',
     {"a": [7]})])
def test_openvino_in_three_forms(tmp_path: Path, text: str, want: Dict[str, List[float]]) -> None:
    assert rows("openvino", tmp_path / "r", text) == want


def test_cycles_become_times_of_the_nodes_that_the_trace_names(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(TRACE))
    assert rows("qnn", tmp_path / "r", QNN, op_trace=str(trace)) == {"/a/Div": [175], "/a/Erf": [175], "In,put": [100]}
    assert rows("qnn", tmp_path / "r", QNN, op_trace=str(trace), skip_runs=1) == {"/a/Div": [25], "/a/Erf": [25]}
    assert rows("qnn", tmp_path / "r", QNN)["/a/Div_2"] == [350]
    with pytest.raises(TagsError, match="only 2 runs"):
        rows("qnn", tmp_path / "r", QNN, skip_runs=2)


def event(name: str, begin: int, length: int, category: str = "Node") -> Dict[str, Any]:
    return {"cat": category, "name": name, "ts": begin, "dur": length, "tid": 1}


def test_percentiles_over_runs(tmp_path: Path) -> None:
    events = []
    for run, time in enumerate((9, 2, 4, 6)):
        events += [event("model_run", run * 100, 90, "Session"), event("loop_kernel_time", run * 100 + 1, time + 10),
                   event("add_kernel_time", run * 100 + 2, time)]
    found = rows("onnxruntime", tmp_path / "p", json.dumps(events), skip_runs=1)
    assert found == {"loop": [10, 10, 10, 10, 10], "add": [2, 4, 6, 6, 4]}
    whole = json.dumps(events)
    assert rows("onnxruntime", tmp_path / "p", whole[:whole.rfind("{") + 5])["add"][3] == 9


@pytest.mark.parametrize("engine, text", [
    ("openvino", COUNTERS.replace("0.023;", "soon;")), ("openvino", COUNTERS.replace("1.5;", "-1;")), ("openvino",
        "<net><"),
    ("openvino", "[" * 100000), ("openvino", '[{"status": "EXECUTED"}]'), ("openvino", ""), ("qnn", "x"),
    ("openvino", '<!DOCTYPE n [<!ENTITY a "b">]><net>&a;</net>'), ("qnn", QNN.replace("400,US", "nan,US")),
    ("qnn", QNN[:QNN.rfind("UNKNOWN")]), ("onnxruntime", "[]"), ("onnxruntime", "{"), ("onnxruntime",
        '[{"cat": "Node"}]')])
def test_damaged_reports_are_one_line(tmp_path: Path, engine: str, text: str, capsys: Any) -> None:
    path = tmp_path / "report"
    path.write_text(text)
    with pytest.raises((InputError, TagsError)):
        engines.table(engine, str(path), skip_runs=0, op_trace=None)
    assert main(["report-table", engine, str(path)]) == 3
    assert capsys.readouterr().err.startswith(f"onnx_tag: {path}: ")


def test_the_table_is_written_whole_and_replaces_its_like(tmp_path: Path, capsys: Any) -> None:
    report, out = tmp_path / "r.csv", tmp_path / "t.tsv"
    report.write_text(COUNTERS, newline="")
    words: Tuple[str, ...] = ("report-table", "openvino", str(report), "-o")
    assert main([*words, str(out)]) == 0
    assert main([*words, str(out)]) == 0
    assert out.read_text() == "node\ttime_us\na/MatMul\t23\nc\t1500\n"
    assert main([*words, str(report), "--force"]) == 4
    other = tmp_path / "other"
    other.write_text("mine")
    assert main([*words, str(other)]) == 4 and other.read_text() == "mine"
    assert main(["report-table", "openvino", str(tmp_path / "none")]) == 3
    capsys.readouterr()
    assert main(["report-table", "openvino", str(report)]) == 0
