#!/usr/bin/env python3
"""Do real clients take a tagged model as they took the original, and do they see the tags?

    check_clients.py ORIGINAL TAGGED [--annotated FILE] [--name NAME] [--verbose]

TAGGED is what `onnx-tag tag` wrote; FILE is the same with `--keys tags,namespace,layer_ann`, for the two clients that
read those keys. Prints one line, and one more for each check that fails; exit 1 if any does. A client that is not
installed is a failure: a check nobody notices to be missing checks nothing.
"""
from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Callable, Dict, Iterable, Iterator, List, Tuple

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, NodeProto

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools/models"))
from feeds import random_feeds

logging.disable(logging.WARNING)
onnxruntime.set_default_logger_severity(4)
Level = onnxruntime.GraphOptimizationLevel
Tags = Dict[str, Dict[str, str]]


class NotApplicable(Exception):
    """The file has nothing for this client to read."""


def nodes(model: ModelProto) -> Iterator[Tuple[str, NodeProto]]:
    """Every node with an address: main graph, subgraphs, functions."""
    def visit(sequence: Iterable[NodeProto], at: str) -> Iterator[Tuple[str, NodeProto]]:
        for index, node in enumerate(sequence):
            yield f"{at}{index}", node
            for attribute in node.attribute:
                inner = [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs
                for k, graph in enumerate(inner):
                    yield from visit(graph.node, f"{at}{index}:{attribute.name}[{k}]/")
    yield from visit(model.graph.node, "")
    for function in model.functions:
        yield from visit(function.node, f"{function.domain}::{function.name}:{function.overload}/")


def entries(holder: object) -> Dict[str, str]:
    return {p.key: p.value for p in holder.metadata_props}


def without(tagged: ModelProto, original: ModelProto) -> ModelProto:
    """The tagged model with the metadata entries it has beyond the original taken out."""
    bare = ModelProto()
    bare.CopyFrom(tagged)
    before = dict(nodes(original))
    for holder, old in [(bare, original), *((node, before.get(at, NodeProto())) for at, node in nodes(bare))]:
        known = {(p.key, p.value) for p in old.metadata_props}
        for entry in [p for p in holder.metadata_props if (p.key, p.value) not in known]:
            holder.metadata_props.remove(entry)
    return bare


class Pair:
    """The two files, and what the second has that the first has not."""

    def __init__(self, original: pathlib.Path, tagged: pathlib.Path) -> None:
        self.paths = original, tagged
        self.original, self.tagged = (onnx.load(p, load_external_data=False) for p in self.paths)
        old = {at: entries(node) for at, node in nodes(self.original)}
        self.tags: Tags = {at: {k: v for k, v in entries(node).items() if old.get(at, {}).get(k) != v}
                           for at, node in nodes(self.tagged)}


def session(path: pathlib.Path, level: Level = Level.ORT_ENABLE_ALL, profile: str = "",
            **config: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1                        # the order of additions must not depend on the machine
    options.log_severity_level = 4
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    for key, value in config.items():
        options.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs(opened: onnxruntime.InferenceSession) -> List[Tuple[str, Tuple[int, ...], bytes]]:
    results = [np.asarray(r) for r in opened.run(None, random_feeds(opened))]
    return [(str(r.dtype), r.shape, r.tobytes()) for r in results]


# ---------------------------------------------------------------- the checks
def same_model(pair: Pair) -> str:
    bare = without(pair.tagged, pair.original)
    assert bare.SerializeToString(deterministic=True) == pair.original.SerializeToString(deterministic=True), \
        "differs in more than metadata"
    return "equal without its tags"


def versions_kept(pair: Pair) -> str:
    said = [(m.ir_version, [(o.domain, o.version) for o in m.opset_import]) for m in (pair.original, pair.tagged)]
    assert said[0] == said[1], f"{said[0]} became {said[1]}"
    return f"ir_version {said[0][0]}"


def tags_present(pair: Pair) -> str:
    tagged = sum(bool(t) for t in pair.tags.values())
    assert tagged, "no node has a tag"
    for at, node in nodes(pair.tagged):
        keys = [p.key for p in node.metadata_props]
        assert len(set(keys)) == len(keys), f"node {at} has a key twice"
    return f"{tagged} of {len(pair.tags)} nodes"


def onnx_checker(pair: Pair) -> str:
    verdicts = []
    for path in pair.paths:
        try:
            onnx.checker.check_model(str(path))
            verdicts.append("")
        except onnx.checker.ValidationError as error:       # contrib operators, for one
            verdicts.append(str(error).splitlines()[0])
    assert verdicts[0] == verdicts[1], verdicts[1]
    return "valid" if not verdicts[0] else "rejected as the original is"


def shape_inference(pair: Pair) -> str:
    found = [[v.SerializeToString(deterministic=True) for v in onnx.shape_inference.infer_shapes(m).graph.value_info]
             for m in (pair.original, pair.tagged)]
    assert found[0] == found[1], "other shapes"
    return f"{len(found[0])} shapes"


def ort_plain(pair: Pair) -> str:
    assert outputs(session(pair.paths[0], Level.ORT_DISABLE_ALL)) == outputs(
        session(pair.paths[1], Level.ORT_DISABLE_ALL)), "outputs differ"
    return "bit-identical"


def ort_optimized(pair: Pair) -> str:
    assert outputs(session(pair.paths[0])) == outputs(session(pair.paths[1])), "outputs differ"
    return "bit-identical"


def ort_kernels(pair: Pair) -> str:
    ran = []
    for path in pair.paths:
        with tempfile.TemporaryDirectory() as folder:
            opened = session(path, profile=f"{folder}/profile")
            opened.run(None, random_feeds(opened))
            events = json.loads(pathlib.Path(opened.end_profiling()).read_text())
        ran.append(collections.Counter(e["name"] for e in events if e.get("cat") == "Node"))
    assert ran[0] == ran[1] and ran[0], "other kernels ran"
    return f"{len(ran[0])} kernels"


def onnx_ir_keeps(pair: Pair) -> str:
    import onnx_ir
    with tempfile.TemporaryDirectory(dir=pair.paths[1].parent) as folder:   # beside it, for external data
        onnx_ir.save(onnx_ir.load(str(pair.paths[1])), f"{folder}/again.onnx")
        again = onnx.load(f"{folder}/again.onnx", load_external_data=False)
    after = {at: entries(node) for at, node in nodes(again)}
    lost = [at for at, tags in pair.tags.items() if not tags.items() <= after.get(at, {}).items()]
    assert not lost, f"tags lost on {len(lost)} nodes, first {lost[0]}"
    assert again.ir_version == pair.tagged.ir_version, "ir_version changed on the way"
    return "all tags come through"


def model_explorer(pair: Pair) -> str:
    from model_explorer_onnx.main import ONNXAdapter
    graphs = [ONNXAdapter().convert(str(path), {"const_element_count_limit": 2})["graphs"][0] for path in pair.paths]
    assert len(graphs[0].nodes) == len(graphs[1].nodes), "another number of nodes"
    shown = {node.id: node for node in graphs[1].nodes}
    attributes, grouped = 0, 0
    for index, node in enumerate(pair.tagged.graph.node):
        tags, seen = pair.tags[str(index)], shown.get(node.name or f"<node_{index}>")
        if not tags or seen is None or node.op_type == "Constant":      # it moves constants to where they are used
            continue
        values = {a.key: a.value for a in seen.attrs}
        added = f"/If <{node.name}>" if node.op_type == "If" else ""    # it draws an If as a group of its own
        missing = [key for key, value in tags.items()
                   if values.get(f"[metadata] {key}", "") != value + (added if key == "namespace" else "")]
        assert not missing, f"{node.name} does not show {missing}"
        attributes += 1
        if "namespace" in tags:
            want = "/".join([graphs[1].id, *(part for part in tags["namespace"].split("/") if part)]) + added
            assert seen.namespace == want, f"{node.name} is in {seen.namespace}, not in {want}"
            grouped += 1
    assert attributes, "no tag is shown"
    return f"{attributes} nodes show their tags, {grouped} are grouped by them"


def netron(pair: Pair) -> str:
    package = importlib.util.find_spec("netron")
    assert package and package.origin, "netron is not installed"
    run = subprocess.run(["node", str(HERE / "netron_nodes.mjs"), str(pathlib.Path(package.origin).parent),
                          str(pair.paths[1])], capture_output=True, text=True)
    assert run.returncode == 0, " ".join(run.stderr.split())[-200:]
    shown = collections.defaultdict(list)
    for node in json.loads(run.stdout):
        shown[node["name"]].append(node["metadata"])
    seen = 0
    for index, node in enumerate(pair.tagged.graph.node):   # constants are drawn inside what uses them
        tags = pair.tags[str(index)]
        if tags and shown[node.name]:
            assert any(tags.items() <= metadata.items() for metadata in shown[node.name]), f"{node.name} lacks tags"
            seen += 1
    assert seen, "no tag is shown"
    return f"{seen} nodes show their tags"


def ort_layers(pair: Pair) -> str:
    layers = sorted({tags["layer_ann"] for tags in pair.tags.values() if "layer_ann" in tags})
    if not layers:
        raise NotApplicable("no layer_ann in the file")
    unfit = [layer for layer in layers if set(layer) & set(",;()")]
    assert not unfit, f"the setting cannot hold {unfit[0]!r}"
    key = "session.layer_assignment_settings"
    placed = session(pair.paths[1], **{key: f"cpu({', '.join(layers)})"})
    assert outputs(placed) == outputs(session(pair.paths[0])), "outputs differ"
    try:
        session(pair.paths[1], **{key: f"cpu({layers[0]}"})
    except Exception:
        return f"{len(layers)} layers placed"
    raise AssertionError("a malformed setting passed: the setting is not read")


def names_differ(pair: Pair) -> str:
    names = [node.name for _, node in nodes(pair.tagged)]
    words = {re.sub(r"\W", "_", name) for name in names}
    assert all(names) and len(words) == len(names), "names are empty or equal after \\W becomes _"
    return f"{len(names)} names"


CHECKS: List[Callable[[Pair], str]] = [
    same_model, versions_kept, tags_present, onnx_checker, shape_inference, ort_plain, ort_optimized, ort_kernels,
    onnx_ir_keeps, netron]
RENAMED: List[Callable[[Pair], str]] = [names_differ, onnx_checker, shape_inference, ort_plain, ort_optimized]
ANNOTATED: List[Callable[[Pair], str]] = [model_explorer, ort_layers]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("original", type=pathlib.Path)
    parser.add_argument("tagged", type=pathlib.Path)
    parser.add_argument("--annotated", type=pathlib.Path)
    parser.add_argument("--renamed", type=pathlib.Path, help="after tag --rename-nodes")
    parser.add_argument("--name", help="what to call the model; default: its folder")
    parser.add_argument("--verbose", action="store_true", help="print every check")
    args = parser.parse_args()
    plain = Pair(args.original, args.tagged)
    annotated = Pair(args.original, args.annotated) if args.annotated else plain
    jobs = [(check, plain) for check in CHECKS] + [(check, annotated) for check in ANNOTATED]
    if args.annotated:
        jobs += [(check, annotated) for check in (same_model, onnx_ir_keeps)]
    if args.renamed:
        jobs += [(check, Pair(args.original, args.renamed)) for check in RENAMED]
    count, details = collections.Counter(), []
    for check, pair in jobs:
        try:
            result, detail = "PASS", check(pair)
        except NotApplicable as reason:
            result, detail = "SKIP", str(reason)
        except Exception as error:                          # whatever a client throws is its answer
            result, detail = "FAIL", f"{type(error).__name__}: {error}"[:300]
        count[result] += 1
        if args.verbose or result == "FAIL":
            details.append(f"  {result} {check.__name__}: {detail}")
    name = args.name or args.original.resolve().parent.name
    verdict = "FAIL" if count["FAIL"] else "PASS"
    tagged = f"{sum(bool(t) for t in plain.tags.values())} of {len(plain.tags)} nodes tagged"
    print(f"{verdict} {name:20} {tagged}; " + ", ".join(f"{n} {r.lower()}" for r, n in sorted(count.items())))
    print(*details, sep="\n", end="\n" if details else "")
    return 1 if count["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
