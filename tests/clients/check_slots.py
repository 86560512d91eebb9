#!/usr/bin/env python3
"""Adds slots for adapters to small exported models, and runs them in ONNX Runtime beside PEFT.

    check_slots.py ONNX_TAG [--models llama,bert] [--exporters script,dynamo]

For each model and exporter: without an adapter the result must be that of the model without slots, bit for bit, at every
level of optimization that is listed; with one it must be PEFT's within 1e-6 of the largest number. Then `--lora` merges the
adapter: each weight must be that of PEFT's merge_and_unload() within 2 units in the last place of max(|W|, |dW|). One line per
case; exit 1 if one fails.
"""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import warnings

# check_refit.py asks MKL for AVX2, where its products of small matrices are summed in another order: up to 10 units from ours.
os.environ.setdefault("MKL_CBWR", "AUTO")

import numpy as np
import onnx
import onnxruntime as ort
import peft
import torch
import transformers as t

from check_refit import export, randomize, save_safetensors, tensors

ort.set_default_logger_severity(4)
warnings.filterwarnings("ignore")

SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 40, "attn_implementation": "eager"}
IDS = torch.randint(3, 90, (2, 9), generator=torch.Generator().manual_seed(0))
PIXELS = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
LEVELS = {"disabled": ort.GraphOptimizationLevel.ORT_DISABLE_ALL, "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
          "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL}

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
COMPANION = [sys.executable, "-m", "onnx_tag"]

# What torch's older exporter cannot export: an operator is missing there.
DYNAMO_ONLY = ("llama", "gpt2", "mistral", "opt")
# The class, its configuration, the input, what PEFT adapts, further options of LoRA.
MODELS = {
    "llama": ("LlamaForCausalLM", lambda: t.LlamaConfig(**SMALL, num_key_value_heads=2), IDS, "all-linear",
              {"use_rslora": True}),
    "bert": ("BertModel", lambda: t.BertConfig(**SMALL), IDS,
             ["query", "value", "intermediate.dense", "output.dense"],
             {"rank_pattern": {"query": 3, "layer.1.output.dense": 7}, "alpha_pattern": {"value": 5}}),
    "gpt2": ("GPT2LMHeadModel", lambda: t.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=40), IDS,
             ["c_attn", "c_proj", "c_fc"], {"fan_in_fan_out": True}),
    "vit": ("ViTModel", lambda: t.ViTConfig(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2,
                                            num_attention_heads=4, intermediate_size=64), PIXELS,
            ["query", "value", "q_proj", "v_proj"], {}),
    "mistral": ("MistralForCausalLM", lambda: t.MistralConfig(**SMALL, num_key_value_heads=2), IDS,
                ["q_proj", "k_proj", "o_proj", "down_proj"], {}),
    "t5": ("T5EncoderModel", lambda: t.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
           IDS, ["q", "v", "wo"], {}),
    "distilbert": ("DistilBertModel", lambda: t.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
                                                                 max_position_embeddings=40), IDS,
                   ["q_lin", "v_lin", "lin1", "lin2"], {"alpha_pattern": {"lin1": 3}}),
    "opt": ("OPTForCausalLM", lambda: t.OPTConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                                  ffn_dim=64, max_position_embeddings=40, word_embed_proj_dim=32), IDS,
            ["q_proj", "v_proj", "fc1", "fc2"], {}),
}


class First(torch.nn.Module):
    """Gives the first output. Its parameter names have a prefix that those of the adapter lack."""

    def __init__(self, inner, options):
        super().__init__()
        self.inner, self.options = inner, options

    def forward(self, x):
        return self.inner(x, **self.options)[0]


def run(path, feed, level, adapter=None):
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    session = ort.InferenceSession(path, options)
    choice = ort.RunOptions()
    if adapter is not None:
        loaded = ort.LoraAdapter()
        loaded.Load(adapter)
        choice.add_active_adapter(loaded)
    return session.run(None, {session.get_inputs()[0].name: feed}, choice)[0]


def must(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words[1:4]} exit {done.returncode}: {done.stdout[:500]}{done.stderr[:1500]}")
    return done.stdout


def merge(tool, plain, model, adapted, saved):
    """How many weights `--lora` changed, and the largest distance from PEFT's, in units in the last place."""
    was, out = plain + ".was.safetensors", plain + ".merged.onnx"
    base = {key: value.clone() for key, value in model.state_dict().items()}
    save_safetensors(was, base)
    rows = json.loads(must([*COMPANION, "refit", plain, "--was", was, "--lora", saved, "-o", out, "--force", "--json"]))["tensors"]
    merged = adapted.merge_and_unload().state_dict()
    values = dict(tensors(out))
    count, worst = 0, 0.0
    for row in rows:
        for name in row["parameters"] or []:
            change = (merged[name] - base[name]).numpy()
            if row["transform"] not in ("same", "transposed") or not change.any():
                continue
            want = merged[name].numpy()
            got = values[row["tensor"]]
            got = got.T if row["transform"] == "transposed" else got
            size = np.spacing(np.maximum(np.abs(base[name].numpy()), np.abs(change)))
            worst = max(worst, float((np.abs(got.reshape(want.shape) - want) / size).max()))
            count += 1
    return count, worst


def check(tool, name, exporter, folder):
    kind, config, given, targets, extra = MODELS[name]
    plain, slots, made, saved = (os.path.join(folder, f"{name}.{exporter}.{end}")
                                 for end in ("onnx", "slots.onnx", "onnx_adapter", "peft"))
    torch.manual_seed(0)
    model = randomize(getattr(t, kind)(config()), 1)
    options = {"return_dict": False, **({"use_cache": False} if "LM" in kind else {})}
    export(First(model, options).eval(), (given,), exporter, plain)
    adapted = peft.get_peft_model(copy.deepcopy(model),
                                  peft.LoraConfig(r=4, lora_alpha=9, target_modules=targets, **extra)).eval()
    numbers = torch.Generator().manual_seed(3)
    count = 0
    for parameter, tensor in adapted.named_parameters():
        if "lora_" in parameter:
            count += "lora_A" in parameter
            tensor.data.copy_(torch.randn(tensor.shape, generator=numbers) * 0.1)
    # What does not run has no nodes, so it has no slots; its adapter is not saved.
    ran = set()
    for path, module in adapted.named_modules():
        if path.endswith("lora_A.default"):
            module.register_forward_hook(lambda *_, path=path: ran.add(path))
    with torch.no_grad():
        want = adapted.base_model.model(given, **options)[0].numpy()
    if len(ran) != count:
        raise RuntimeError(f"{count - len(ran)} adapters did not run")
    adapted.save_pretrained(saved)
    must([*COMPANION, "refit", plain, "--slots", "op in (MatMul, Gemm)", "--rank", "8", "-o", slots, "--force"])
    onnx.checker.check_model(onnx.load(slots), full_check=True)
    must([sys.executable, "-m", "onnx_tag", "adapter", saved, slots, "-o", made, "--force"])
    feed = given.numpy()
    equal, far = {}, 0.0
    for level in LEVELS:
        base, empty = run(plain, feed, level), run(slots, feed, level)
        equal[level] = base.tobytes() == empty.tobytes()
        got = run(slots, feed, level, made)
        far = max(far, float(np.abs(got - want).max() / max(1, np.abs(want).max())))
        moved = float(np.abs(want - base).max())
        error = float(np.abs(empty - base).max())
    return count, equal, error, far, moved, *merge(tool, plain, model, adapted, saved)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--exporters", default="script,dynamo")
    options = parser.parse_args()
    os.environ.update(ONNX_TAG_PROGRAM=os.path.abspath(options.tool), PYTHONPATH=ROOT)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models.split(","):
            for exporter in options.exporters.split(","):
                if exporter == "script" and name in DYNAMO_ONLY:
                    continue
                try:
                    count, equal, error, far, moved, changed, ulps = check(options.tool, name, exporter, folder)
                except Exception as failure:                # one line each; the others are still checked
                    print(f"{name} {exporter}: FAILED: {failure}", flush=True)
                    failed += 1
                    continue
                # Fusions of the highest level stop at the sum, and round in another way.
                good = equal["disabled"] and equal["basic"] and error <= 1e-6 * 4 and far <= 1e-6 and moved > 1e-3
                good = good and changed == count and ulps <= 2
                failed += not good
                shown = ", ".join(f"{level} {'equal' if same else 'differs'}" for level, same in equal.items())
                print(f"{name} {exporter}: {count} adapters; empty: {shown} ({error:.1e}); with PEFT's {far:.1e}, "
                      f"which moves {moved:.2f}; merged: {changed} weights within {ulps:.2g} units{'' if good else ': FAILED'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
