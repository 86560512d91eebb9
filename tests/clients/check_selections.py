#!/usr/bin/env python3
"""Does what `select`, `query`, `show` and `export` print do in other tools what it says?

    check_selections.py BINARY MODELS [--only NAME]

MODELS/<name>/model.onnx are the models of tools/models/make_client_models.py. Prints a line for each check and model; exit 1 if any
fails.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree
from typing import Callable, Dict, List, Set, Tuple

import jsonschema
import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import quantize_dynamic

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs/reference/schemas"
sys.path.insert(0, str(HERE.parent.parent / "tools/models"))
from feeds import random_feeds

onnxruntime.set_default_logger_severity(4)
SETTING = "session.layer_assignment_settings"


class Tool:
    """onnx-tag, run as users do."""

    def __init__(self, binary: pathlib.Path) -> None:
        self.binary = binary

    def run(self, *words: object, fails: bool = False) -> str:
        done = subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True)
        assert fails or done.returncode == 0, f"{words[0]} ends with {done.returncode}: {done.stderr.strip()[-300:]}"
        return done.stdout

    def select(self, model: pathlib.Path, query: str, tool: str, *words: str) -> Dict:
        said = json.loads(self.run("select", model, query, "--for", tool, "--json", *words))
        jsonschema.validate(said, schema("select"))
        return said

    def query(self, model: pathlib.Path, query: str) -> List[Dict]:
        said = json.loads(self.run("query", model, query, "--json"))
        jsonschema.validate(said, schema("query"))
        assert said["matched"] == len(said["nodes"])
        return said["nodes"]


def schema(name: str) -> Dict:
    return json.loads((DOCS / f"{name}.schema.json").read_text())


def session(path: object, **config: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    for key, value in config.items():
        options.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


# ---------------------------------------------------------------- the checks
def quantizes_attention_only(tool: Tool, model: pathlib.Path, scratch: pathlib.Path) -> str:
    """quantize_dynamic with our lists: exactly the selected nodes that it can quantize are quantized."""
    before = {node.name: node for node in onnx.load(model).graph.node}
    weights = {w.name for w in onnx.load(model).graph.initializer}
    chosen = set(tool.select(model, "type=attention", "ort-quant")["nodes_to_quantize"])
    could = {name for name, node in before.items() if node.op_type == "MatMul" and node.input[1] in weights}
    done: Set[str] = set()
    for words in ((), ("--exclude",)):
        lists = tool.select(model, "type=attention", "ort-quant", *words)
        quantize_dynamic(model, scratch / "quantized.onnx", op_types_to_quantize=["MatMul"], **lists)
        names = {node.name.removesuffix("_quant") for node in onnx.load(scratch / "quantized.onnx").graph.node
                 if node.op_type == "MatMulInteger"}
        want = could - chosen if words else could & chosen
        # A Gemm is made a MatMul first, and may then be quantized under a new name.
        gemms = {name for name in names if name not in before}
        split = {f"{name}_MatMul" for name, node in before.items() if node.op_type == "Gemm"}
        assert gemms <= split, f"quantized what there is not: {sorted(gemms - split)[:3]}"
        assert names - gemms == want, f"differs: {sorted((names - gemms) ^ want)[:3]}"
        assert bool(words) or not gemms, f"quantized what was not selected: {sorted(gemms)[:3]}"
        done |= names
        assert want, "nothing to quantize"
        session(scratch / "quantized.onnx")
    return f"{len(could & chosen)} of {len(could)} MatMuls with weights, the others with --exclude"


def layer_rules_hold(tool: Tool, model: pathlib.Path, scratch: pathlib.Path) -> str:
    """The setting catches, by ONNX Runtime's rules, the annotations of exactly the selected nodes; the runtime takes it."""
    tool.run("tag", model, "-o", model.parent / "placed.onnx", "--keys", "tags,layer_ann", "--no-sidecar", "--force")
    annotation = {(n.name, i): {p.key: p.value for p in n.metadata_props}.get("layer_ann")
                  for i, n in enumerate(onnx.load(model.parent / "placed.onnx", load_external_data=False).graph.node)}
    counts = []
    for query in ("under=encoder.layer.1", "layer=0", "under=encoder.layer.0.attention"):
        setting = tool.select(model, query, "layer-ann")["session_options"][SETTING]
        device, rules = re.fullmatch(r"(\w+)\((.*)\)", setting).groups()
        exact = {r[1:] for r in rules.split(", ") if r.startswith("=")}
        prefixes = tuple(r for r in rules.split(", ") if not r.startswith("="))
        caught = {key for key, path in annotation.items() if path and (path.startswith(prefixes) or path in exact)}
        want = {(row["name"], row["index"]) for row in tool.query(model, query) if row["graph"] == ""}
        assert caught == want, f"{query} catches {len(caught)} nodes, not {len(want)}"
        log = subprocess.run(
            [sys.executable, "-c", "import onnxruntime, sys\no = onnxruntime.SessionOptions()\no.log_severity_level = 0\n"
             f"o.add_session_config_entry({SETTING!r}, sys.argv[2])\n"
             "onnxruntime.InferenceSession(sys.argv[1], o, providers=['CPUExecutionProvider'])",
             str(model.parent / "placed.onnx"), setting], capture_output=True, text=True)
        assert log.returncode == 0, log.stderr[-300:]
        mapped = re.findall(r"Layering Rule \d+ \(cpu -> (\S+)\) mapped to EP: CPUExecutionProvider", log.stderr)
        assert set(mapped) == exact | set(prefixes), f"the log maps {mapped}"
        counts.append(len(want))
    plain, placed = (session(p, **({SETTING: setting} if p.name == "placed.onnx" else {}))
                     for p in (model, model.parent / "placed.onnx"))
    feeds = random_feeds(plain)
    assert all(np.array_equal(a, b) for a, b in zip(plain.run(None, feeds), placed.run(None, feeds))), "outputs differ"
    return f"{counts} nodes, every rule in the log"


def polygraphy_script_runs(tool: Tool, model: pathlib.Path, scratch: pathlib.Path) -> str:
    """TensorRT needs a GPU; the script is run on a network that looks like one."""
    script = tool.run("select", model, "type=normalization", "--for", "polygraphy")
    names = {row["name"] for row in tool.query(model, "type=normalization")}
    layers = [types.SimpleNamespace(name=n.name, precision=None) for n in onnx.load(model, load_external_data=False).graph.node]
    network = types.SimpleNamespace(num_layers=len(layers), get_layer=lambda index: layers[index])
    sys.modules["tensorrt"] = types.SimpleNamespace(float32="float32")
    space: Dict = {}
    exec(compile(script, "script", "exec"), space)
    space["postprocess"](network)
    assert {layer.name for layer in layers if layer.precision == "float32"} == names
    return f"{len(names)} layers constrained"


def netron_takes_the_attachment(tool: Tool, model: pathlib.Path, scratch: pathlib.Path) -> str:
    attachment = scratch / "model.netron.json"
    tool.run("export", model, "--to", "netron", "-o", attachment, "--force")
    jsonschema.validate(json.loads(attachment.read_text()), schema("netron-attachment"))
    package = importlib.util.find_spec("netron")
    assert package and package.origin, "netron is not installed"
    run = subprocess.run(["node", str(HERE / "netron_nodes.mjs"), str(pathlib.Path(package.origin).parent), str(model),
                          str(attachment)], capture_output=True, text=True)
    assert run.returncode == 0, " ".join(run.stderr.split())[-200:]
    rows = json.loads(run.stdout)
    shown = {row["name"]: row["metadata"].get("pkg.onnx_tag.module") for row in rows if row["type"] != "tensor"}
    weights = {row["initializer"]: ", ".join(row["parameters"]) or None
               for row in json.loads(tool.run("weights", model, "--json"))["weights"]}
    # Netron takes the outputs of Constant nodes for tensors, too.
    tensors = {row["name"]: row["metadata"].get("pkg.onnx_tag.parameter") for row in rows
               if row["type"] == "tensor" and row["name"] in weights}
    assert tensors and all(weights[name] == shown_as for name, shown_as in tensors.items()), "tensors differ"
    module = {row["name"]: row["module"] or "<root>" for row in tool.query(model, "not untagged")}
    wrong = [name for name, path in module.items() if name in shown and shown[name] != path]
    assert not wrong, f"{wrong[0]} shows {shown[wrong[0]]}"
    return (f"{sum(name in shown for name in module)} nodes show their module, "
            f"{sum(map(bool, tensors.values()))} tensors their parameter")


def without(value: object, keys: set) -> object:
    """The document without these keys, at any depth."""
    if isinstance(value, dict):
        return {key: without(inside, keys) for key, inside in value.items() if key not in keys}
    return [without(inside, keys) for inside in value] if isinstance(value, list) else value


def exports_parse(tool: Tool, model: pathlib.Path, scratch: pathlib.Path) -> str:
    root = xml.etree.ElementTree.fromstring(tool.run("export", model, "--to", "graphml"))
    space = {"g": "http://graphml.graphdrawing.org/xmlns"}
    kinds = [d.text for d in root.findall(".//g:node/g:data[@key='kind']", space)]
    shown = json.loads(tool.run("show", model, "--json"))
    jsonschema.validate(shown, schema("show"))
    assert kinds.count("node") == shown["nodes"], "another number of nodes"
    ids = {n.get("id") for n in root.findall(".//g:node", space)}
    assert all(e.get(end) in ids for e in root.findall(".//g:edge", space) for end in ("source", "target"))
    lines = tool.run("export", model, "--to", "tsv").splitlines()
    assert len(lines) == shown["nodes"] + 1 and len({line.count("\t") for line in lines}) == 1
    side = model.parent / "side.tags.json"
    tool.run("tag", model, "--sidecar-only", "--sidecar", side, "--force", "-q")
    jsonschema.validate(json.loads(side.read_text()), schema("sidecar"))
    for words in (("query", "not untagged", "--tsv"), ("export", "--to", "graphml")):
        here, there = (tool.run(words[0], path, *words[1:]) for path in (model, side))
        assert here == there, f"{words[0]} says something else of the sidecar"
    # A sidecar knows no bytes and no FLOPs.
    unknown = {"bytes", "bytes_by_type", "flops", "unknown_flops", "tags_from", "total_bytes", "total_flops",
               "total_unknown_flops", "flops_formula", "total_flops_formula", "activation_bytes", "total_activation_bytes",
               "activation_bytes_formula", "total_activation_bytes_formula", "dimensions"}
    here, there = (without(json.loads(tool.run("show", path, "--json")), unknown) for path in (model, side))
    assert here == there, "show says something else of the sidecar"
    return f"{shown['nodes']} nodes, {len(shown['modules'])} modules; the sidecar says the same"


CHECKS: List[Tuple[Callable[[Tool, pathlib.Path, pathlib.Path], str], List[str]]] = [
    (quantizes_attention_only, ["bert_ts", "bert_dyn"]),
    (layer_rules_hold, ["bert_ts"]),
    (polygraphy_script_runs, ["bert_ts"]),
    (netron_takes_the_attachment, ["bert_ts", "resnet_ts"]),
    (exports_parse, ["bert_ts", "bert_dyn", "bert_ortext", "llama_q4", "resnet_qdq", "parts_functions", "nested_if_in_loop"]),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("--only", help="the check of this name")
    args = parser.parse_args()
    tool, failed = Tool(args.binary.resolve()), 0
    for check, names in CHECKS:
        for name in names:
            if args.only not in (None, check.__name__):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    result, detail = "PASS", check(tool, args.models / name / "model.onnx", pathlib.Path(scratch))
                except Exception as error:                  # whatever a client throws is its answer
                    result, detail = "FAIL", f"{type(error).__name__}: {error}"[:400]
                    failed += 1
            print(f"{result} {check.__name__} {name}: {detail}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
