"""Compares the lines of code that onnx-tag reports with what the files say, read here by other code.

    check_source_lines.py metadata PROGRAM MODEL.onnx...        dynamo exports: the innermost own frame of each node
    check_source_lines.py transfer PROGRAM FOLDER...            dyn.onnx -> dyn-ort.onnx, dyn-slim.onnx with `transfer`
    check_source_lines.py recording PROGRAM [--models A,B]      TorchScript exports of zoo.py, tagged with a recording

`metadata` asks for equal file, line, function and text. `transfer` knows the truth of a node from the names of its
values: the nodes of the original between its inputs and its outputs. `recording` exports with `verbose=True`, so that
the doc string of each node has its traceback, and removes the doc strings before tagging; beside it, the lines of the
same model's dynamo export, by module and operator.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import onnx

KEY = "pkg.torch.onnx.stack_trace"


class Frame(NamedTuple):
    file: str
    line: int
    function: str
    text: str


# ------------------------------------------------------------ what the files say
def frames_of_trace(trace: str) -> List[Frame]:
    """Innermost first."""
    found = re.findall(r'^ {0,2}File "(.*)", line (\d+), in (.*)\n?((?: {4}.*\n?)*)', trace, re.M)
    return [Frame(file, int(line), function.strip(), (code.splitlines() or [""])[0].strip())
            for file, line, function, code in reversed(found)]


def frames_of_doc(doc: str) -> List[Frame]:
    found = re.findall(r"^(.*)\((\d+)\): (.*)$", doc, re.M)
    return [Frame(file, int(line), function, "") for file, line, function in found]


def is_models(file: str) -> bool:
    """Neither torch nor the interpreter."""
    path = file.replace("\\", "/")
    return not (re.search(r"/(site|dist)-packages/(torch|functorch)/", path) or path.startswith("torch/") or
                path.startswith("<") or
                re.search(r"/lib/python[\d.]+/(?!(site|dist)-packages)", path))


def own_frames(frames: List[Frame]) -> List[Frame]:
    own: List[Frame] = []
    for frame in frames:
        if re.search(r"/torch/(jit/_trace|onnx/)", frame.file.replace("\\", "/")):
            break                                           # around it is the script that exports
        if is_models(frame.file):
            own.append(frame)
    return own


def shorten(files: Set[str]) -> Dict[str, str]:
    plain = {file: file.replace("\\", "/") for file in files}
    outside = [path for path in plain.values() if "-packages/" not in path]
    folder = os.path.commonpath([os.path.dirname(path) for path in outside]) if outside else ""
    return {file: path.rpartition("-packages/")[2] if "-packages/" in path else os.path.relpath(path, folder or ".")
            for file, path in plain.items()}


def graphs(graph: onnx.GraphProto, path: str = "") -> Iterator[Tuple[str, onnx.GraphProto]]:
    yield path, graph
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g, f"{path}/{index}:{attribute.name}".lstrip("/"))


def stack_trace(node: onnx.NodeProto) -> str:
    return next((e.value for e in node.metadata_props if e.key == KEY), "")


def sidecar(program: str, arguments: List[str]) -> List[Dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "tags.json")
        run = subprocess.run([program, *arguments, "--sidecar-only", "--sidecar", out, "--quiet"],
                             capture_output=True, text=True, check=False)
        if run.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(arguments)}: {run.stderr}")
        with open(out, encoding="utf-8") as file:
            return list(json.load(file)["nodes"])


# ------------------------------------------------------------ dynamo's metadata
def check_metadata(program: str, files: List[str]) -> bool:
    totals: collections.Counter[str] = collections.Counter()
    for name in files:
        model = onnx.load(name, load_external_data=False)
        expected: Dict[Tuple[str, int], Frame] = {}
        own_files: Set[str] = set()
        for path, graph in graphs(model.graph):
            for index, node in enumerate(graph.node):
                own = own_frames(frames_of_trace(stack_trace(node)))
                own_files.update(frame.file for frame in own)
                if own:
                    expected[path, index] = own[0]
        names = shorten(own_files)
        nodes = {(node["graph"], node["index"]): node["source_line"] for node in sidecar(program, [name])}
        right = 0
        for place, frame in expected.items():
            found = nodes[place]
            want = {"file": names[frame.file], "line": frame.line, "function": frame.function,
                    "text": frame.text or None}
            right += found == want
            if found != want:
                print(f"  {name} {place}: {found}, not {want}")
        invented = sum(1 for place, line in nodes.items() if line and place not in expected)
        print(f"{name}: {right} of {len(expected)} right, {invented} without a traceback, {len(nodes)} nodes")
        totals.update(files=1, right=right, asked=len(expected), invented=invented, nodes=len(nodes))
    print(f"\n{totals['files']} files, {totals['nodes']} nodes: {totals['right']} of {totals['asked']} right "
          f"({100 * totals['right'] / max(1, totals['asked']):.2f} %), {totals['invented']} lines without a traceback")
    return totals["right"] == totals["asked"] and totals["invented"] == 0


# ------------------------------------------------------------ transfer
def between(original: onnx.GraphProto, inputs: Set[str], outputs: Set[str]) -> Set[int]:
    """The nodes that make `outputs` out of `inputs`."""
    maker = {value: index for index, node in enumerate(original.node) for value in node.output if value}
    found: Set[int] = set()
    open_values = [value for value in outputs if value in maker]
    while open_values:
        index = maker[open_values.pop()]
        if index in found:
            continue
        found.add(index)
        open_values += [value for value in original.node[index].input if value in maker and value not in inputs]
        if len(found) > 60:                                 # not a fusion: a value got a new name on the way
            return {maker[value] for value in outputs if value in maker}
    return found


def check_transfer(program: str, folders: List[str]) -> bool:
    totals: collections.Counter[str] = collections.Counter()
    for folder in folders:
        source = os.path.join(folder, "dyn.onnx")
        original = onnx.load(source, load_external_data=False).graph
        lines = [own_frames(frames_of_trace(stack_trace(node))) for node in original.node]
        if not any(lines):
            continue
        values = {value for node in original.node for value in node.output}
        for variant in ("dyn-ort", "dyn-slim", "dyn-sim"):
            target = os.path.join(folder, variant + ".onnx")
            if not os.path.exists(target):
                continue
            graph = onnx.load(target, load_external_data=False).graph
            nodes = {node["index"]: node["source_line"] for node in sidecar(program, ["transfer", source, target])
                     if node["graph"] == ""}
            count: collections.Counter[str] = collections.Counter()
            for index, node in enumerate(graph.node):
                outputs = {value for value in node.output if value in values}
                origin = between(original, set(node.input), outputs)
                accepted = {(os.path.basename(lines[i][0].file.replace("\\", "/")), lines[i][0].line)
                            for i in origin if lines[i]}
                found = nodes[index]
                if not accepted:
                    count.update(unknown=1, unknown_with_line=int(found is not None))
                    continue
                right = found is not None and (os.path.basename(found["file"]), found["line"]) in accepted
                count.update(asked=1, right=int(right), missing=int(found is None))
            print(f"{target}: {count['right']} of {count['asked']} right, {count['missing']} without a line, "
                  f"{count['unknown']} nodes of unknown origin")
            totals.update({f"{variant} {key}": number for key, number in count.items()})
    good = True
    for variant in ("dyn-ort", "dyn-slim", "dyn-sim"):
        right, asked = totals[f"{variant} right"], totals[f"{variant} asked"]
        print(f"{variant}: {right} of {asked} right ({100 * right / max(1, asked):.2f} %), "
              f"{totals[f'{variant} unknown']} of unknown origin, {totals[f'{variant} unknown_with_line']} with a line")
        good = good and right >= 0.98 * asked
    return good


# ------------------------------------------------------------ recordings
def carries_data(graph: onnx.GraphProto) -> List[bool]:
    """By node: whether it computes with values of the inputs, not with their shapes alone."""
    fed = {value.name for value in graph.input} - {value.name for value in graph.initializer}
    carries = []
    for node in graph.node:
        carried = node.op_type not in ("Shape", "Size") and any(value in fed for value in node.input)
        carries.append(carried)
        if carried:
            fed.update(node.output)
    return carries


def place_of(line: Optional[Dict[str, Any]]) -> Optional[Tuple[str, int]]:
    return None if line is None else (os.path.basename(line["file"]), line["line"])


def check_recording(program: str, names: List[str]) -> bool:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    from models import library_setup
    from models import more_models
    from models import zoo

    from onnx_tag import record
    library_setup.stand_in_for_operators()
    makers = {**zoo.ZOO, **more_models.MODELS}
    totals: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                example = zoo.build(makers[name])
                torchscript = os.path.join(folder, name + ".onnx")
                dynamo = os.path.join(folder, name + ".dynamo.onnx")
                recording = os.path.join(folder, name + ".json")
                with contextlib.redirect_stdout(io.StringIO()), silence():
                    zoo.export_torchscript(example, torchscript, verbose=True)
                    zoo.export_dynamo(example, dynamo)
                    record(example.model, (), example.inputs, path=recording)
            except Exception as error:                      # a model that one of the exporters refuses
                print(f"{name}: {type(error).__name__}: {str(error)[:100]}")
                continue
            count = check_one(program, torchscript, dynamo, recording)
            print(f"{name}: {count['right']} of {count['asked']} nodes with data right "
                  f"({100 * count['right'] / max(1, count['asked']):.1f} %), {count['missing']} without a line; "
                  f"{count['dynamo_right']} of {count['dynamo_asked']} as dynamo says by module and operator")
            totals.update(count)
    share = totals["right"] / max(1, totals["asked"])
    print(f"\n{totals['right']} of {totals['asked']} right ({100 * share:.2f} %), {totals['missing']} without a line; "
          f"{totals['dynamo_right']} of {totals['dynamo_asked']} "
          f"({100 * totals['dynamo_right'] / max(1, totals['dynamo_asked']):.2f} %) as dynamo says")
    return share >= 0.95


def check_one(program: str, torchscript: str, dynamo: str, recording: str) -> "collections.Counter[str]":
    model = onnx.load(torchscript)
    truth = [own_frames(frames_of_doc(node.doc_string)) for node in model.graph.node]
    for _, graph in graphs(model.graph):
        for node in graph.node:
            node.ClearField("doc_string")
    onnx.save(model, torchscript)
    tagged = sidecar(program, [torchscript, "--trace", recording, "--frames"])
    nodes = {node["index"]: node for node in tagged if node["graph"] == ""}
    by_operation: Dict[Tuple[str, str], Set[Optional[Tuple[str, int]]]] = collections.defaultdict(set)
    for node in sidecar(program, [dynamo]):
        # A Conv with a folded BatchNorm has the traceback of the BatchNorm; its tag is not certain.
        if node["confidence"] == "certain" and node["source_line"]:
            by_operation[node["module"], node["op"]].add(place_of(node["source_line"]))
    count: collections.Counter[str] = collections.Counter()
    for index, carried in enumerate(carries_data(model.graph)):
        if not carried:
            continue
        found = place_of(nodes[index]["source_line"])
        if truth[index]:
            right = found == (os.path.basename(truth[index][0].file), truth[index][0].line)
            count.update(asked=1, right=int(right), missing=int(found is None))
            if not right and os.environ.get("SHOW"):
                print(f"  #{index} {nodes[index]['op']} {nodes[index]['name']}: {found}, not {truth[index][0]}")
        accepted = by_operation.get((nodes[index]["module"], nodes[index]["op"]))
        if accepted:
            # dynamo keeps frames of `forward` alone; a recording also has the functions that forward calls.
            frames = nodes[index].get("frames", [])
            forward = next((place_of(f) for f in frames if f["function"] == "forward" and
                            not f["file"].startswith("torch/")), None)
            count.update(dynamo_asked=1, dynamo_right=int(forward in accepted))
            if forward not in accepted and os.environ.get("SHOW"):
                print(f"  dynamo {nodes[index]['op']} {nodes[index]['module']}: {forward}, not {sorted(accepted)}")
    return count


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """The exporter prints its graph from C++."""
    saved, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(null)


RECORDED = ("bert,gpt2,llama,t5,vit,swin,resnet,mobilenet_v2,nn_parts,whisper,mixtral,clip,distilbert,convnext,nn_lstm,"
            "nn_cnn,albert,bart,opt,qwen3,segformer,wav2vec2,mobilevit,nn_transformer,nn_unet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("metadata", "transfer", "recording"))
    parser.add_argument("program")
    parser.add_argument("inputs", nargs="*")
    parser.add_argument("--models", default=RECORDED)
    options = parser.parse_args()
    good = {"metadata": lambda: check_metadata(options.program, options.inputs),
            "transfer": lambda: check_transfer(options.program, options.inputs),
            "recording": lambda: check_recording(options.program, options.models.split(","))}[options.what]()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
