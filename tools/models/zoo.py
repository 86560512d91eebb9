"""Tiny PyTorch models, one per architecture: what the makers in this folder export.

Everything is built from a config with seeded random weights, so nothing is downloaded. The sizes are as small as the
architecture allows while every kind of module, and every list with two siblings, is still there.
"""
from __future__ import annotations

import inspect
import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Callable, Dict, Iterator, List

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch
from torch import Tensor, nn


@dataclass
class Example:
    """A model with everything an exporter needs: inputs in the order of `forward`, and which of their axes vary."""
    model: nn.Module
    inputs: Dict[str, Tensor]
    outputs: List[str]
    axes: Dict[str, Dict[int, str]] = field(default_factory=dict)


def distinct(model: nn.Module, seed: int = 0) -> nn.Module:
    """Gives every tensor its own values, as training would.

    Exporters merge tensors of equal value, and fresh biases and norms are all zeros and ones: without this a file
    from an untrained model names layer 0 where layer 1 is meant.
    """
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.is_floating_point() and "inv_freq" not in name:
                delta = 0.02 * torch.randn(tensor.shape, generator=noise)
                tensor.add_(delta.abs() if name.endswith("running_var") else delta)
    return model


def ids(*shape: int, high: int = 50) -> Tensor:
    return torch.randint(1, high, shape, generator=torch.Generator().manual_seed(1))


def noise(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def text_axes(*names: str) -> Dict[str, Dict[int, str]]:
    return {name: {0: "batch", 1: "sequence"} for name in names}


def hf(model: str, config: str, **settings: object) -> nn.Module:
    """A Hugging Face model from its config alone; eager attention, because its operations are the ones in old files."""
    import transformers
    parts = getattr(transformers, config)(**settings)
    if hasattr(parts, "use_cache"):
        parts.use_cache = False
    return getattr(transformers, model)._from_config(parts, attn_implementation="eager")


# ---------------------------------------------------------------- transformers
def bert_tiny() -> Example:
    """The size of google/bert_uncased_L-2_H-128_A-2, with a smaller vocabulary."""
    model = hf("BertModel", "BertConfig", vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
               intermediate_size=512, max_position_embeddings=512)
    inputs = {"input_ids": ids(2, 16, high=1000), "attention_mask": torch.ones(2, 16, dtype=torch.int64),
              "token_type_ids": torch.zeros(2, 16, dtype=torch.int64)}
    axes = {**text_axes(*inputs, "last_hidden_state"), "pooler_output": {0: "batch"}}
    return Example(model, inputs, ["last_hidden_state", "pooler_output"], axes)


def bert() -> Example:
    model = hf("BertForSequenceClassification", "BertConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2,
               num_attention_heads=4, intermediate_size=48, max_position_embeddings=32, num_labels=3)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["logits"])


def gpt2() -> Example:
    model = hf("GPT2LMHeadModel", "GPT2Config", vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["logits"])


def llama() -> Example:
    model = hf("LlamaForCausalLM", "LlamaConfig", vocab_size=64, hidden_size=32, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=2, intermediate_size=48, max_position_embeddings=32)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64)}
    return Example(model, inputs, ["logits"])


def t5() -> Example:
    model = hf("T5ForConditionalGeneration", "T5Config", vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2,
               num_decoder_layers=1, num_heads=4, decoder_start_token_id=0)
    inputs = {"input_ids": ids(2, 8), "attention_mask": torch.ones(2, 8, dtype=torch.int64),
              "decoder_input_ids": ids(2, 5)}
    return Example(model, inputs, ["logits", "encoder_last_hidden_state"])


def whisper() -> Example:
    model = hf("WhisperForConditionalGeneration", "WhisperConfig", vocab_size=64, d_model=32, encoder_layers=1,
               decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
               decoder_ffn_dim=48, num_mel_bins=8, max_source_positions=16, max_target_positions=16, pad_token_id=0,
               bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None)
    inputs = {"input_features": noise(1, 8, 32), "decoder_input_ids": ids(1, 5),
              "decoder_attention_mask": torch.ones(1, 5, dtype=torch.int64)}
    return Example(model, inputs, ["logits", "encoder_last_hidden_state"])


def vit() -> Example:
    model = hf("ViTForImageClassification", "ViTConfig", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
               intermediate_size=48, image_size=16, patch_size=4, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 16, 16)}, ["logits"], {"pixel_values": {0: "batch"}})


def swin() -> Example:
    model = hf("SwinForImageClassification", "SwinConfig", image_size=16, patch_size=2, embed_dim=8, depths=[1, 1],
               num_heads=[2, 2], window_size=4, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 16, 16)}, ["logits"])


def resnet() -> Example:
    model = hf("ResNetForImageClassification", "ResNetConfig", embedding_size=8, hidden_sizes=[16, 32], depths=[2, 2],
               layer_type="bottleneck", num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 32, 32)}, ["logits"], {"pixel_values": {0: "batch"}})


def mobilenet() -> Example:
    model = hf("MobileNetV2ForImageClassification", "MobileNetV2Config", image_size=32, depth_multiplier=0.1,
               min_depth=4, tf_padding=False, num_labels=3)
    return Example(model, {"pixel_values": noise(1, 3, 32, 32)}, ["logits"])


# ---------------------------------------------------------------- plain torch.nn
class Branch(nn.Module):
    """A small block with an activation given from outside, so that two blocks may share one."""

    def __init__(self, width: int, act: nn.Module) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.proj = nn.Linear(width, width)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return x + self.act(self.proj(self.norm(x)))


class Parts(nn.Module):
    """What module trees do that names cannot show: held in a dict or nested lists, shared, called twice, recurrent."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        act = nn.GELU()
        self.embed = nn.Embedding(64, width)
        self.branches = nn.ModuleDict({"left": Branch(width, act), "right": Branch(width, act)})
        self.stages = nn.ModuleList([nn.ModuleList([Branch(width, nn.SiLU()) for _ in range(2)]) for _ in range(2)])
        self.twice = nn.Linear(width, width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.rnn = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.shared = self.twice
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        x = self.branches["left"](x) * self.branches["right"](x)
        for stage in self.stages:
            for block in stage:
                x = block(x)
        x = torch.tanh(self.twice(torch.tanh(self.twice(x))))
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x, _ = self.rnn(x)
        return self.head(self.shared(x).mean(1))


def parts() -> Example:
    torch.backends.mha.set_fastpath_enabled(False)
    return Example(Parts(), {"x": ids(2, 6)}, ["scores"])


class Gate(nn.Module):
    """Becomes an If with a module called in each branch."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Linear(16, 16)
        self.narrow = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return torch.relu(self.wide(x))
        return torch.sigmoid(self.narrow(x)) * 2


class Repeat(nn.Module):
    """Becomes a Loop with an If inside."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(16, 16)

    def forward(self, x: Tensor, times: Tensor) -> Tensor:
        for _ in range(int(times)):
            x = torch.tanh(self.step(x))
            if bool(x.mean() > 0.1):
                x = x - 0.1
        return x


class ControlFlow(nn.Module):
    """To be scripted: tracing would unroll it."""

    def __init__(self) -> None:
        super().__init__()
        self.entry = nn.Linear(8, 16)
        self.gate = Gate()
        self.repeat = Repeat()
        self.exit = nn.Linear(16, 4)

    def forward(self, x: Tensor, times: Tensor) -> Tensor:
        return self.exit(self.repeat(self.gate(torch.relu(self.entry(x))), times))


def control_flow() -> Example:
    return Example(torch.jit.script(ControlFlow().eval()), {"x": noise(2, 8), "times": torch.tensor(3)}, ["y"])


ZOO: Dict[str, Callable[[], Example]] = {
    "bert": bert, "gpt2": gpt2, "llama": llama, "t5": t5, "whisper": whisper, "vit": vit, "swin": swin,
    "resnet": resnet, "mobilenet_v2": mobilenet, "nn_parts": parts, "nn_control_flow": control_flow,
}


def build(make: Callable[[], Example], trained: bool = True) -> Example:
    """The model in eval mode, the same on every call; `trained` gives every tensor its own values."""
    torch.manual_seed(0)
    example = make()
    example.model.eval()
    if trained:
        distinct(example.model)
    return example


@contextmanager
def only_given_inputs(example: Example) -> Iterator[None]:
    """While active, `forward` takes the example's inputs and nothing else.

    The TorchScript exporter hands over every default of the signature as a positional argument, which some
    transformers models refuse. The module itself is not wrapped, so no scope changes.
    """
    if isinstance(example.model, torch.jit.ScriptModule):
        yield
        return
    forward, names = example.model.forward, list(example.inputs)

    def narrow(*values: Tensor) -> object:
        return forward(**dict(zip(names, values)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    narrow.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    example.model.forward = narrow
    try:
        yield
    finally:
        del example.model.forward


def export_torchscript(example: Example, path: str, opset: int = 17, **more: object) -> None:
    """The exporter most files in the wild come from."""
    with torch.no_grad(), only_given_inputs(example):
        torch.onnx.export(example.model, tuple(example.inputs.values()), path, input_names=list(example.inputs),
                          output_names=example.outputs, dynamic_axes=example.axes or None, opset_version=opset,
                          dynamo=False, **more)


def export_dynamo(example: Example, path: str, **more: object) -> None:
    """The default exporter since torch 2.9; static shapes, one file."""
    with torch.no_grad():
        torch.onnx.export(example.model, (), path, kwargs=dict(example.inputs), input_names=list(example.inputs),
                          output_names=example.outputs, dynamo=True, external_data=False, verbose=False, **more)
