#!/usr/bin/env python3
"""Do other engines name kernels by module after `tag --rename-nodes`, and does onnx-tag read their numbers?

    check_engines.py ONNX_TAG MODEL...

Runs each model before and after in ONNX Runtime, OpenVINO and QNN's graph writer. The latter needs no device but
looks for one in /dev: a preloaded opendir (needs cc) shows it one. Axes get fixed sizes, weights without data are
filled by chance. Prints for each model a row of docs/figures/names-kernels.tsv: kernels whose name begins with the
path of a module, of all. Then: the table of `report-table` against OpenVINO's own sum; operators of QNN with a node of the model, by
its trace and invented cycles; `compare` of OpenVINO's values (bfloat16) against numpy's SQNR. Exit 1 if a total or an
SQNR differs. Needs onnx, onnxruntime, onnxruntime-qnn, openvino, and the companion (python/) on PYTHONPATH.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Dict, List, Set

import numpy as np
import onnx
import onnxruntime
import openvino

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from feeds import random_feeds

OPENDIR = """#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
DIR* opendir(const char* name) {
  DIR* (*real)(const char*) = (DIR * (*)(const char*)) dlsym(RTLD_NEXT, "opendir");
  return real(strncmp(name, "/dev", 4) == 0 && strlen(name) < 6 ? getenv("FAKE_DEV") : name);
}
"""
QNN = """import os, sys, onnxruntime, onnxruntime_qnn
model, out = sys.argv[1:]
library = onnxruntime_qnn.get_library_path()
onnxruntime.register_execution_provider_library("QNNExecutionProvider", library)
device = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "QNNExecutionProvider"][0]
options = onnxruntime.SessionOptions()
options.add_provider_for_devices([device], {
    "backend_path": os.path.dirname(library) + "/libQnnIr.so", "enable_framework_op_trace": "1",
    "framework_op_trace_dir": out})
onnxruntime.InferenceSession(model, options)
"""


def ask(*words: object) -> str:
    return subprocess.run([sys.argv[1], *map(str, words)], check=True, capture_output=True, text=True).stdout


def table_of(engine: str, report: pathlib.Path, *words: object) -> pathlib.Path:
    """The report as lines of NODE<tab>NUMBER."""
    table = report.with_suffix(".tsv")
    subprocess.run([sys.executable, "-m", "onnx_tag", "report-table", engine, report, "-o", table, "--force", *map(str, words)],
                   check=True, capture_output=True)
    return table


def prepared(source: str, path: pathlib.Path) -> None:
    """The model with fixed axes and with weights, without shapes that others inferred."""
    chance, model = np.random.default_rng(0), onnx.load(source)
    for tensor in model.graph.initializer:
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        data = tensor.raw_data or tensor.float_data or tensor.int32_data or tensor.int64_data
        if np.prod(tensor.dims) and not data:
            tensor.raw_data = (chance.standard_normal(tensor.dims) * 0.05 + 0.1).astype(kind).tobytes()
    sizes: Dict[str, int] = {}
    for value in model.graph.input:
        for axis in value.type.tensor_type.shape.dim:
            if axis.dim_param:
                axis.dim_value = sizes.setdefault(axis.dim_param, 8 + len(sizes) % 3)
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    onnx.save(onnx.shape_inference.infer_shapes(model), path)


def in_onnxruntime(model: pathlib.Path) -> List[str]:
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(model)
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    session.run(None, random_feeds(session))
    events = json.loads(pathlib.Path(session.end_profiling()).read_text())
    return [e["name"] for e in events if e.get("cat") == "Node" and e["name"].endswith("_kernel_time")]


def in_openvino(model: pathlib.Path, precision: str, profile: bool) -> openvino.InferRequest:
    compiled = openvino.Core().compile_model(
        str(model), "CPU", {"PERF_COUNT": profile, "INFERENCE_PRECISION_HINT": precision})
    request = compiled.create_infer_request()
    request.infer(random_feeds(onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])))
    return request


def kernels_of(request: openvino.InferRequest, report: pathlib.Path) -> List[str]:
    rows = [{"node_name": r.node_name, "node_type": r.node_type, "status": str(r.status),
             "real_time": r.real_time.total_seconds() * 1e6} for r in request.get_profiling_info()]
    report.write_text(json.dumps(rows))
    return [row["node_name"] for row in rows if "EXECUTED" in row["status"]]


def in_qnn(model: pathlib.Path, folder: pathlib.Path) -> List[str]:
    """The operators; writes the trace, and a table of cycles."""
    (folder / "opendir.c").write_text(OPENDIR)
    (folder / "dev").mkdir(exist_ok=True)
    (folder / "dev/fastrpc-cdsp").touch()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "opendir.so", folder / "opendir.c", "-ldl"], check=True)
    place = {**os.environ, "LD_PRELOAD": str(folder / "opendir.so"), "FAKE_DEV": str(folder / "dev")}
    subprocess.run([sys.executable, "-c", QNN, model, folder], check=True, env=place, cwd=folder,
                   capture_output=True)
    traces = json.loads((folder / "qnn_op_trace.json").read_text())["subgraph_traces"]
    names = [op["dst_name"] for trace in traces for op in trace["op_mappings"]]
    rows = [f"U,EXECUTE,{len(names)},CYCLES,B,ROOT,Accelerator (execute) time (cycles)",
            f"U,EXECUTE,{1000 * len(names)},US,B,ROOT,Accelerator (execute) time",
            *(f"U,NODE,1,CYCLES,B,SUB-EVENT,{name}:OpId_{i} (cycles)" for i, name in enumerate(names))]
    head = "Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier"
    (folder / "qnn.csv").write_text("\n".join([head, *rows]) + "\n")
    return names


def share(names: List[str], modules: Set[str]) -> str:
    def says(name: str) -> bool:
        name = name.removeprefix("fused ")
        path = name.lstrip("/").replace("/", ".")
        return any(path.startswith(f"{m}.") for m in modules) or (name.startswith("/") and name.count("/") == 1)
    return f"{sum(map(says, names))} of {len(names)}"


def sqnr_differs(model: pathlib.Path, folder: pathlib.Path) -> str:
    tapped, values, inputs = folder / "tapped.onnx", folder / "b.npz", folder / "x.npz"
    ask("tap", model, "--module", "**", "-o", tapped)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(tapped), options, providers=["CPUExecutionProvider"])
    names, feeds = [value.name for value in session.get_outputs()], random_feeds(session)
    exact = dict(zip(names, session.run(None, feeds)))
    request = in_openvino(tapped, "bf16", False)
    low = {name: request.get_output_tensor(i).data.copy() for i, name in enumerate(names)}
    np.savez(values, **low)
    np.savez(inputs, **feeds)
    said = subprocess.run([sys.executable, "-m", "onnx_tag", "compare", model, values, "--model", tapped, "--inputs",
                           inputs, "--json"], capture_output=True, text=True,
                          env={**os.environ, "ONNX_TAG_PROGRAM": sys.argv[1]})
    count, largest, lowest = 0, 0.0, np.inf
    for row in json.loads(said.stdout)["modules"]:
        own = [name for name in names if re.fullmatch(re.escape(row["module"]) + r"(:\d+)?", name)]
        if row["sqnr_db"] is None or len(own) != len(row["values"]):
            continue
        a, b = (np.concatenate([side[name].ravel() for name in own]).astype(np.float64) for side in (exact, low))
        largest = max(largest, abs(10 * np.log10((a ** 2).sum() / ((a - b) ** 2).sum()) - row["sqnr_db"]))
        count, lowest = count + 1, min(lowest, row["sqnr_db"])
    assert largest < 1e-6, f"SQNR differs by {largest} dB"
    return f"SQNR of {count} modules is numpy's, the lowest {lowest:.1f} dB"


def check(source: str, folder: pathlib.Path) -> None:
    model, named = folder / "model.onnx", folder / "named.onnx"
    prepared(source, model)
    ask("tag", model, "--rename-nodes", "-o", named, "--no-sidecar")
    modules = {row["module"] for row in json.loads(ask("query", model, "not untagged", "--json"))["nodes"]} - {""}
    cells: Dict[str, List[str]] = {"openvino": [], "onnxruntime": [], "qnn": []}
    notes = []
    for file in (model, named):
        cells["onnxruntime"].append(share(in_onnxruntime(file), modules))
        report = folder / "openvino.json"
        cells["openvino"].append(share(kernels_of(in_openvino(file, "f32", True), report), modules))
        total = sum(round(r["real_time"]) for r in json.loads(report.read_text()) if "EXECUTED" in r["status"])
        table = table_of("openvino", report)
        said = round(sum(float(line.split("\t")[1]) for line in table.read_text().splitlines()[1:]))
        assert said == total, f"the table has {said} us, OpenVINO {total}"
        operators = in_qnn(file, folder)
        cells["qnn"].append(share(operators, modules))
        table = table_of("qnn", folder / "qnn.csv", "--op-trace", folder / "qnn_op_trace.json")
        placed = len(operators) - len(json.loads(ask("profile", file, table, "--json"))["unplaced"])
        notes.append(f"QNN: {placed} of {len(operators)} have nodes; OpenVINO: {said} us, as it says itself")
    print(source, *(cell for pair in cells.values() for cell in pair), sep="\t")
    print(*(f"  {note}" for note in [*notes, sqnr_differs(model, folder)]), sep="\n", flush=True)


def main() -> int:
    failed = 0
    for source in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(source, pathlib.Path(folder))
            except Exception as error:                  # whatever an engine throws is its answer
                failed += 1
                print(f"FAIL {source}: {type(error).__name__}: {error}"[:400], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
