#!/usr/bin/env python3
"""Exports by torch's dynamo exporter with its options, and by mobius-onnx, with known answers.

    python tools/truth/option_models.py OUT [--mobius PROGRAM]

OUT/<model>/dyn-<option>.onnx and .truth.tsv; `-untrained` has the weights of a fresh model (equal ones are merged), `-nometa`
has no metadata. With --mobius (the program of the package mobius-onnx) also OUT/mobius_<family>/mobius*.onnx, without weights;
`-anon` has no names but those of the weights. What docs/how/accuracy.md shows under "options"; not checked in.
"""
from __future__ import annotations

import argparse
import ast
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List

sys.modules.setdefault("torchvision", None)  # transformers would ask it for operators that a CPU build may not have

import onnx
import torch
from onnx import ModelProto
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models import zoo
from truth.degrade import nometa
from models.library_setup import reason
from truth.truth_rows import ModuleMap, Row, dynamo_truth, layer_of, metadata, places, write_rows

MODELS = "bert gpt2 llama t5 vit swin resnet mobilenet_v2 nn_parts".split()
OPTIONS: Dict[str, Dict[str, object]] = {
    "default": {}, "noopt": {"optimize": False}, "opset18": {"opset_version": 18}, "opset21": {"opset_version": 21},
    "opset23": {"opset_version": 23}, "shapes": {"dynamic": True}, "noopt-shapes": {"optimize": False, "dynamic": True},
}
TEXT = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 256}
DECODER = {**TEXT, "num_key_value_heads": 2, "head_dim": 16}
TWO_STACKS = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 256}
# family: class of the configuration, class of the model, settings
FAMILIES = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", DECODER), "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", DECODER),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", DECODER), "mistral": ("MistralConfig", "MistralForCausalLM", DECODER),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {**DECODER, "pad_token_id": 0}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", DECODER), "bert": ("BertConfig", "BertModel", TEXT),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {**DECODER, "num_local_experts": 4}),
    "roberta": ("RobertaConfig", "RobertaModel", TEXT), "gpt_neox": ("GPTNeoXConfig", "GPTNeoXForCausalLM", TEXT),
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 256}),
    "t5": ("T5Config", "T5ForConditionalGeneration",
           {"d_model": 64, "d_ff": 128, "num_layers": 3, "num_heads": 4, "d_kv": 16, "vocab_size": 256}),
    "whisper": ("WhisperConfig", "WhisperForConditionalGeneration",
                {**TWO_STACKS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}),
    "bart": ("BartConfig", "BartForConditionalGeneration", TWO_STACKS),
    "vit": ("ViTConfig", "ViTModel", {**TEXT, "image_size": 32, "patch_size": 8}),
}


def save(model: ModelProto, rows: List[Row], path: Path) -> None:
    onnx.save(model, str(path.with_name(path.name + ".onnx")))
    write_rows(str(path.with_name(path.name + ".truth.tsv")), rows)


def export(name: str, option: str, trained: bool, folder: Path) -> None:
    example = zoo.build(zoo.ZOO[name], trained)
    settings = dict(OPTIONS[option])
    if settings.pop("dynamic", False):
        settings["dynamic_shapes"] = {
            name: {axis: torch.export.Dim.DYNAMIC for axis in example.axes.get(name, {})} for name in example.inputs}
    path = folder / f"dyn-{option}{'' if trained else '-untrained'}"
    zoo.export_dynamo(example, str(path.with_name(path.name + ".onnx")), **settings)
    model = onnx.load(path.with_name(path.name + ".onnx"))
    rows = dynamo_truth(model, ModuleMap(example.model))
    save(model, rows, path)
    nometa(model, ModuleMap(example.model))
    save(model, rows, Path(f"{path}-nometa"))


def mobius_truth(model: ModelProto) -> List[Row]:
    rows = []
    for place in places(model):
        scopes = metadata(place.node).get("pkg.onnxscript.name_scopes")
        if scopes is None:
            continue
        module = ".".join(scope for scope in ast.literal_eval(scopes) if scope)
        rows.append(Row(place.graph, place.index, place.node.op_type, module, "", "", layer_of(module), "exact"))
    return rows


def number_names(model: ModelProto) -> None:
    """Nodes and values get numbers; weights, inputs and outputs keep their names."""
    kept = {v.name for v in [*model.graph.input, *model.graph.output]}
    made = {o: f"val_{i}" for i, o in enumerate(o for n in model.graph.node for o in n.output) if o and o not in kept}
    for index, node in enumerate(model.graph.node):
        node.name = f"node_{index}"
        node.input[:] = [made.get(value, value) for value in node.input]
        node.output[:] = [made.get(value, value) for value in node.output]
    del model.graph.value_info[:]


def build_mobius(program: str, family: str, out: Path) -> None:
    import transformers
    config, architecture, settings = FAMILIES[family]
    work = out / "configs" / family
    work.mkdir(parents=True, exist_ok=True)
    described = {**getattr(transformers, config)(**settings).to_dict(), "architectures": [architecture]}
    (work / "config.json").write_text(json.dumps(described, default=str))
    subprocess.run([program, "build", "--config", work, "--no-weights", work / "built"], check=True, capture_output=True)
    for file in sorted((work / "built").rglob("model.onnx")):
        part = file.parent.name
        folder = out / f"mobius_{family}{'' if part == 'built' else '_' + part}"
        folder.mkdir(exist_ok=True)
        model = onnx.load(str(file), load_external_data=False)
        rows = mobius_truth(model)
        save(model, rows, folder / "mobius")
        nometa(model, None)
        save(model, rows, folder / "mobius-nometa")
        number_names(model)
        save(model, rows, folder / "mobius-anon")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--mobius", metavar="PROGRAM")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    for name in MODELS:
        folder = given.out / name
        os.makedirs(folder, exist_ok=True)
        for option, trained in [*((o, True) for o in OPTIONS), ("default", False)]:
            try:
                export(name, option, trained, folder)
            except Exception as error:  # an option that the exporter refuses for this model
                print(f"{name}, {option}: {reason(error)}", file=sys.stderr)
    for family in FAMILIES if given.mobius else ():
        build_mobius(given.mobius, family, given.out)


if __name__ == "__main__":
    main()
