#!/usr/bin/env python3
"""Makes small models that run, of every kind a client may meet, for the client checks.

    python tools/models/make_client_models.py OUT_DIR [--model NAME]...

Writes OUT_DIR/<name>/model.onnx, with its external data beside it where there is some, and runs each once in ONNX
Runtime. OUT_DIR/<name> must not be there yet. Nothing of this is checked in.
"""
from __future__ import annotations

import argparse
import pathlib
import tempfile
from typing import Callable, Dict, Tuple

import onnx
import onnx.parser
import onnxruntime
import torch
from torch import Tensor, nn
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from truth import degrade
from models import zoo
from models.feeds import random_feeds
from truth.make_truth import quiet


# ---------------------------------------------------------------- models only needed here
class WithPast(nn.Module):
    """A decoder as it is deployed: keys and values go in and come out."""

    def __init__(self, decoder: nn.Module) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, input_ids: Tensor, key_0: Tensor, value_0: Tensor, key_1: Tensor,
                value_1: Tensor) -> Tuple[Tensor, ...]:
        from transformers import DynamicCache
        cache = DynamicCache()
        for layer, pair in enumerate(((key_0, value_0), (key_1, value_1))):
            cache.update(*pair, layer)
        mask = torch.ones(input_ids.shape[0], key_0.shape[2] + input_ids.shape[1], dtype=torch.int64)
        out = self.decoder(input_ids=input_ids, past_key_values=cache, use_cache=True, attention_mask=mask)
        return (out.logits, *(t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)))


def gpt2_past() -> zoo.Example:
    past = {f"{what}_{layer}": zoo.noise(2, 4, 3, 8) for layer in (0, 1) for what in ("key", "value")}
    outputs = ["logits", *(f"new_{name}" for name in past)]
    return zoo.Example(WithPast(zoo.gpt2().model), {"input_ids": zoo.ids(2, 1), **past}, outputs)


class Counted(nn.Module):
    """A Loop whose body calls a module."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(8, 16)
        self.repeat = zoo.Repeat()

    def forward(self, x: Tensor, times: Tensor) -> Tensor:
        return self.repeat(self.entry(x), times)


class Gated(nn.Module):
    """An If whose branches call different modules."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(8, 16)
        self.gate = zoo.Gate()

    def forward(self, x: Tensor) -> Tensor:
        return self.gate(self.entry(x))


def gated() -> zoo.Example:
    return zoo.Example(torch.jit.script(Gated().eval()), {"x": zoo.noise(2, 8)}, ["y"])


def counted() -> zoo.Example:
    return zoo.Example(torch.jit.script(Counted().eval()), {"x": zoo.noise(2, 8), "times": torch.tensor(2)}, ["y"])


def text_model(text: str, weights: Dict[str, str], nodes: Dict[str, str]) -> onnx.ModelProto:
    """A model from ONNX text, which cannot name nodes nor hold dots: the names are given apart."""
    model = onnx.parser.parse_model(text)
    every = [*model.graph.node, *(n for f in model.functions for n in f.node)]
    every += [n for node in every for a in node.attribute for n in a.g.node]
    for node in every:
        node.input[:] = [weights.get(t, t) for t in node.input]
        node.name = nodes.get(node.output[0], node.name)
    for weight in model.graph.initializer:
        weight.name = weights[weight.name]
    return model


def functions(path: str) -> None:
    """One function called twice, which calls another: what inliners and viewers must keep apart."""
    onnx.save(text_model("""
        <ir_version: 8, opset_import: ["": 17, "blocks": 1], producer_name: "pytorch", producer_version: "2.0.0">
        main_graph (float[N, 4] x) => (float[N, 4] y)
        <float[4, 4] w0 = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,2}, float[4] b0 = {1,2,3,4},
         float[4, 4] w1 = {2,0,0,1, 0,1,0,0, 1,0,3,0, 0,0,0,1}, float[4] b1 = {4,3,2,1}>
        {
            h = blocks.Block (x, w0, b0)
            g = blocks.Block (h, w1, b1)
            y = Relu (g)
        }
        <domain: "blocks", opset_import: ["": 17, "blocks": 1]>
        Block (x, weight, bias) => (out)
        {
            fc = Gemm (x, weight, bias)
            act = blocks.Act (fc)
            out = Add (x, act)
        }
        <domain: "blocks", opset_import: ["": 17]>
        Act (x) => (out)
        {
            s = Sigmoid (x)
            out = Mul (x, s)
        }
    """, {f"{short}{k}": f"block.{k}.fc.{name}" for short, name in (("w", "weight"), ("b", "bias")) for k in (0, 1)},
        {"h": "/block.0/Block", "g": "/block.1/Block", "y": "/Relu", "fc": "/block.0/fc/Gemm",
         "act": "/block.0/act/Act"}), path)


def scan(path: str) -> None:
    """A recurrence as a Scan; PyTorch's TorchScript exporter never writes one."""
    onnx.save(text_model("""
        <ir_version: 8, opset_import: ["": 17], producer_name: "pytorch", producer_version: "2.0.0">
        main_graph (float[5, 2, 4] x, float[2, 4] start) => (float[2, 4] last, float[5, 2, 4] states)
        <float[4, 4] w = {1,0,0,0, 0,-1,0,0, 0,0,1,0, 0,0,0,-2}>
        {
            last, states = Scan <num_scan_inputs = 1, body = step (float[2, 4] before, float[2, 4] now)
                => (float[2, 4] after, float[2, 4] state)
            {
                product = MatMul (now, w)
                sum = Add (before, product)
                after = Tanh (sum)
                state = Identity (after)
            }> (start, x)
        }
    """, {"w": "rnn.cell.fc.weight"},
        {"last": "/rnn/Scan", "product": "/rnn/cell/fc/MatMul", "sum": "/rnn/cell/Add", "after": "/rnn/cell/Tanh",
         "state": "/rnn/Identity"}), path)


# ---------------------------------------------------------------- ways to make a file
def torchscript(make: Callable[[], zoo.Example], **options: object) -> Callable[[str], None]:
    return lambda path: zoo.export_torchscript(zoo.build(make), path, **options)


def dynamo(make: Callable[[], zoo.Example], **options: object) -> Callable[[str], None]:
    return lambda path: zoo.export_dynamo(zoo.build(make), path, **options)


def then(make: Callable[[], zoo.Example], tool: str) -> Callable[[str], None]:
    """What another tool makes of a TorchScript export."""
    def run(path: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            example = zoo.build(make)
            zoo.export_torchscript(example, f"{scratch}/base.onnx")
            degrade.TOOLS[tool](f"{scratch}/base.onnx", path, example)
    return run


def external(make: Callable[[], zoo.Example], one_file: bool) -> Callable[[str], None]:
    def run(path: str) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            zoo.export_torchscript(zoo.build(make), f"{scratch}/base.onnx")
            model = onnx.load(f"{scratch}/base.onnx")
        onnx.save(model, path, save_as_external_data=True, all_tensors_to_one_file=one_file,
                  location="model.data" if one_file else None, size_threshold=1024)
    return run


MODELS: Dict[str, Callable[[str], None]] = {
    "bert_ts": torchscript(zoo.bert_tiny),
    "bert_dyn": dynamo(zoo.bert_tiny),
    "bert_ortext": then(zoo.bert_tiny, "ts-ortext"),
    "bert_qdyn": then(zoo.bert_tiny, "ts-qdyn"),
    "bert_external_one": external(zoo.bert_tiny, one_file=True),
    "bert_external_many": external(zoo.bert_tiny, one_file=False),
    "gpt2_past": torchscript(gpt2_past),
    "llama_ts": torchscript(zoo.llama),
    "llama_dyn": dynamo(zoo.llama),
    "llama_q4": then(zoo.llama, "ts-q4"),
    "vit_ts": torchscript(zoo.vit),
    "vit_fp16": then(zoo.vit, "ts-fp16"),
    "resnet_ts": torchscript(zoo.resnet),
    "resnet_qdq": then(zoo.resnet, "ts-qdq"),
    "whisper_ts": torchscript(zoo.whisper),
    "parts_ts14": torchscript(zoo.parts, opset=14),
    "parts_functions": torchscript(zoo.parts, export_modules_as_functions={zoo.Branch}),
    "if": torchscript(gated),
    "loop": torchscript(counted),
    "nested_if_in_loop": torchscript(zoo.control_flow),
    "scan": scan,
    "functions": functions,
}
# For what is cheap to ask of a model: tests/clients/check_parts.py.
MORE: Dict[str, Callable[[str], None]] = {
    "gpt2_dyn": dynamo(zoo.gpt2),
    "t5_ts": torchscript(zoo.t5),
    "t5_dyn": dynamo(zoo.t5),
    "whisper_dyn": dynamo(zoo.whisper),
    "vit_dyn": dynamo(zoo.vit),
    "swin_ts": torchscript(zoo.swin),
    "resnet_dyn": dynamo(zoo.resnet),
    "mobilenet_ts": torchscript(zoo.mobilenet),
    "mobilenet_dyn": dynamo(zoo.mobilenet),
    "mobilenet_qdq": then(zoo.mobilenet, "ts-qdq"),
    "parts_dyn": dynamo(zoo.parts),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--model", action="append", choices=[*MODELS, *MORE], help="only this one; may be given again")
    parser.add_argument("--more", action="store_true", help="also those that only check_parts.py needs")
    args = parser.parse_args()
    onnxruntime.set_default_logger_severity(3)
    makers = {**MODELS, **MORE}
    for name in args.model or (makers if args.more else MODELS):
        path = args.out / name / "model.onnx"
        path.parent.mkdir(parents=True)                     # never into an old one: external data is appended to
        with quiet():
            makers[name](str(path))
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            results = session.run(None, random_feeds(session))
        nodes = len(onnx.load(path, load_external_data=False).graph.node)
        print(f"{name:20} {nodes:4} nodes, {path.stat().st_size:8} bytes, {len(results)} outputs", flush=True)


if __name__ == "__main__":
    main()
