"""The models of check_compare.py, and the forms in which they are deployed."""
from __future__ import annotations

import copy
import pathlib
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import numpy as np
import onnx
import torch
from onnxruntime import quantization
from torch import Tensor, nn

Inputs = Dict[str, Tensor]


class Example(NamedTuple):
    """A model, its inputs by name, and modules whose weight the test damages in turn."""
    model: nn.Module
    inputs: Inputs
    damaged: List[str]


# ---------------------------------------------------------------- models
def bert() -> Example:
    from transformers import BertConfig, BertModel
    model = BertModel(BertConfig(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128,
                                 vocab_size=300, max_position_embeddings=64))
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    return Example(model, {"input_ids": torch.randint(0, 300, (2, 12)), "attention_mask": mask},
                   ["encoder.layer.1.attention.self.key", "encoder.layer.2.output.dense"])


def llama() -> Example:
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
                                         num_key_value_heads=2, intermediate_size=128, vocab_size=300,
                                         max_position_embeddings=64, use_cache=False))
    return Example(model, {"input_ids": torch.randint(0, 300, (2, 12)),
                           "attention_mask": torch.ones(2, 12, dtype=torch.int64)},
                   ["model.layers.1.mlp.gate_proj", "model.layers.0.self_attn.v_proj"])


def vit() -> Example:
    from transformers import ViTConfig, ViTForImageClassification
    model = ViTForImageClassification(ViTConfig(hidden_size=64, num_hidden_layers=3, num_attention_heads=4,
                                                intermediate_size=128, image_size=32, patch_size=8, num_labels=5))
    damaged = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    return Example(model, {"pixel_values": torch.randn(1, 3, 32, 32)}, [damaged[4], damaged[-4]])


class DoubleConv(nn.Sequential):
    def __init__(self, inner: int, outer: int) -> None:
        super().__init__(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(),
                         nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU())


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter = DoubleConv(3, 16)
        self.down = nn.ModuleList([DoubleConv(16, 32), DoubleConv(32, 64)])
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, stride=2), nn.ConvTranspose2d(32, 16, 2, stride=2)])
        self.merge = nn.ModuleList([DoubleConv(64, 32), DoubleConv(32, 16)])
        self.out = nn.Conv2d(16, 4, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = self.enter(image)
        skips = []
        for down in self.down:
            skips.append(x)
            x = down(self.pool(x))
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([up(x), skips.pop()], 1))
        return self.out(x)


def unet() -> Example:
    return Example(UNet(), {"image": torch.randn(1, 3, 32, 32)}, ["down.0.3", "merge.1.0"])


class Tagger(nn.Module):
    """A recurrent model: embeddings, two LSTM layers, a GRU, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 48)
        self.lstm = nn.LSTM(48, 64, num_layers=2, batch_first=True)
        self.between = nn.Linear(64, 48)
        self.gru = nn.GRU(48, 48, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(48), nn.Linear(48, 32), nn.Tanh(), nn.Linear(32, 9))

    def forward(self, tokens: Tensor) -> Tensor:
        x, _ = self.lstm(self.embed(tokens))
        x, _ = self.gru(self.between(x))
        return self.head(x)


def rnn() -> Example:
    return Example(Tagger(), {"tokens": torch.randint(0, 100, (2, 10))}, ["between", "head.1"])


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(x + self.bn2(self.conv2(self.act(self.bn1(self.conv1(x))))))


class Resnet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.blocks = nn.ModuleList(Residual(24) for _ in range(3))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10))

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def resnet() -> Example:
    return Example(Resnet(), {"image": torch.randn(2, 3, 32, 32)}, ["blocks.1.conv2", "head.2"])


class PreNorm(nn.Module):
    def __init__(self, width: int, inner: nn.Module) -> None:
        super().__init__()
        self.norm, self.fn = nn.LayerNorm(width), inner

    def forward(self, x: Tensor) -> Tensor:
        return self.fn(self.norm(x)) + x


class Attention(nn.Module):
    """One projection for query, key and value."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1)
        return self.proj((scores @ v).transpose(1, 2).reshape(batch, length, width))


class Encoder(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.project = nn.Linear(20, width)
        self.layers = nn.ModuleList(nn.ModuleList([
            PreNorm(width, Attention(width)),
            PreNorm(width, nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)))])
            for _ in range(3))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, 7, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        x = self.project(features)
        for attention, feed_forward in self.layers:
            x = feed_forward(attention(x))
        return self.out(self.norm(x))


def encoder() -> Example:
    return Example(Encoder(), {"features": torch.randn(2, 12, 20)}, ["layers.1.0.fn.qkv", "layers.2.1.fn.2"])


class Mixer(nn.Module):
    """Depthwise convolutions, gates, and a layer that is called twice."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, stride=4)
        self.depthwise = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, groups=width) for _ in range(2))
        self.gate, self.value = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.shared, self.act = nn.Linear(2 * width, width), nn.SiLU()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.classifier = nn.Linear(width, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patch(image)
        for depthwise, norm in zip(self.depthwise, self.norms):
            y = norm((x + depthwise(x)).permute(0, 2, 3, 1))
            y = self.shared(self.act(self.gate(y)) * self.value(y))
            x = x + y.permute(0, 3, 1, 2)
        return self.classifier(x.mean((2, 3)))


def mixer() -> Example:
    return Example(Mixer(), {"image": torch.randn(2, 3, 32, 32)}, ["gate", "classifier"])


MODELS: Dict[str, Callable[[], Example]] = {
    "bert": bert, "llama": llama, "vit": vit, "unet": unet, "rnn": rnn, "resnet": resnet, "encoder": encoder,
    "mixer": mixer}


def make(name: str) -> Example:
    """Statistics of norms and all weights as after some training: no zeros, no ones."""
    torch.manual_seed(7)
    example = MODELS[name]()
    example.model.eval()
    with torch.no_grad():
        for key, tensor in (*example.model.named_parameters(), *example.model.named_buffers()):
            if key.endswith("running_var") or (tensor.dim() == 1 and key.endswith("weight")):
                tensor.mul_(1 + 0.3 * torch.rand_like(tensor))
            elif tensor.dim() == 1 and tensor.is_floating_point() and not key.endswith("inv_freq"):
                tensor.add_(0.1 * torch.randn_like(tensor))
    return example


def _builder(name: str) -> Callable[[], Tuple[nn.Module, Inputs]]:
    def build() -> Tuple[nn.Module, Inputs]:
        example = make(name)
        return example.model, example.inputs
    return build


for _name in MODELS:                                        # for python -m onnx_tag reference compare_models:build_bert
    globals()[f"build_{_name}"] = _builder(_name)


def damage(model: nn.Module, where: str) -> nn.Module:
    """A copy in which one weight has its rows in another order, as after a wrong conversion."""
    wrong = copy.deepcopy(model)
    weight = wrong.get_submodule(where).weight
    with torch.no_grad():
        weight.copy_(weight.roll(1, 0))
    return wrong


# ---------------------------------------------------------------- forms
def export(model: nn.Module, inputs: Inputs, path: pathlib.Path, dynamo: bool = False) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: Dict[str, Any] = {"input_names": list(inputs), "dynamo": dynamo}
        if dynamo:
            torch.onnx.export(model, (), str(path), kwargs=dict(inputs), verbose=False, **options)
        else:
            from onnx_tag.exporting import without_unused_inputs
            with without_unused_inputs(model, (), dict(inputs)) as (given, names):
                torch.onnx.export(model, given, str(path), **{**options, "input_names": names})


class Calibration(quantization.CalibrationDataReader):
    def __init__(self, inputs: Dict[str, np.ndarray]) -> None:
        self.rows = iter([inputs])

    def get_next(self) -> Any:
        return next(self.rows, None)


def prepared(path: pathlib.Path) -> pathlib.Path:
    """The file as ONNX Runtime's guide for quantization prepares it: shapes inferred, norms folded."""
    done = path.with_suffix(".prepared.onnx")
    try:
        quantization.shape_inference.quant_pre_process(str(path), str(done), skip_symbolic_shape=True)
    except Exception:
        onnx.save(onnx.shape_inference.infer_shapes(onnx.load(path)), done)
    # The dynamo exporter lists shapes of weights; the quantizer transposes weights and trips over the old shapes.
    model = onnx.load(done)
    weights = {tensor.name for tensor in model.graph.initializer}
    kept = [value for value in model.graph.value_info if value.name not in weights]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    onnx.save(model, done)
    return done


# `reduce_range`: weights of seven bits. With eight, sums of products overflow 16 bits on x86-64 processors without
# VNNI, and the quantized model is really wrong.
def dynamic(path: pathlib.Path, inputs: Dict[str, np.ndarray], out: pathlib.Path) -> None:
    quantization.quantize_dynamic(str(prepared(path)), str(out), reduce_range=True)


def masked_scores(model: onnx.ModelProto) -> List[str]:
    """Sums with a mask of -Inf in them cannot be quantized: their scale would be Inf."""
    normalized = {value for node in model.graph.node if node.op_type == "Softmax" for value in node.input}
    return [node.name for node in model.graph.node
            if node.op_type == "Softmax" or (node.op_type == "Add" and node.output[0] in normalized)]


def static(form: quantization.QuantFormat) -> Callable[..., None]:
    def quantize(path: pathlib.Path, inputs: Dict[str, np.ndarray], out: pathlib.Path) -> None:
        source = prepared(path)
        quantization.quantize_static(str(source), str(out), Calibration(inputs), quant_format=form,
                                     nodes_to_exclude=masked_scores(onnx.load(source)))
    return quantize


def half(path: pathlib.Path, inputs: Dict[str, np.ndarray], out: pathlib.Path) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), out)


def plain(path: pathlib.Path, inputs: Dict[str, np.ndarray], out: pathlib.Path) -> None:
    out.write_bytes(path.read_bytes())


Form = Callable[[pathlib.Path, Dict[str, np.ndarray], pathlib.Path], None]
FORMS: Dict[str, Form] = {"float": plain, "dynamic": dynamic, "qdq": static(quantization.QuantFormat.QDQ),
                          "qlinear": static(quantization.QuantFormat.QOperator), "half": half}


def arrays(inputs: Inputs) -> Dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in inputs.items()}


def deployed(model: nn.Module, inputs: Inputs, folder: pathlib.Path, forms: Tuple[str, ...], dynamo: bool = False
             ) -> Dict[str, pathlib.Path]:
    """The model exported, in each form."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "model.onnx"
    export(model, inputs, source, dynamo)
    made = {}
    for form in forms:
        made[form] = folder / f"{form}.onnx"
        FORMS[form](source, arrays(inputs), made[form])
    return made
