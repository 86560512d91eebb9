"""Measures `python -m onnx_tag refit`: the refitted export of seed 1 against the export of seed 2.

  python check_refit.py ONNX_TAG            a few small models, in every form
  python check_refit.py ONNX_TAG --zoo      also tiny models of transformers
  python check_refit.py ONNX_TAG --fresh       the first checkpoint has zeros and ones, as models that were never trained
  python check_refit.py ONNX_TAG --unknown     models with folds that refit does not know: no tensor may be wrong
  python check_refit.py ONNX_TAG --cases DIR   keeps the exports in DIR, and uses those that are there: corrupt_refit.py damages them

A tensor is `equal` to that of the second export, `refused`, `kept` (it is equal in both exports), or WRONG. Exit code 1 if one
is wrong, or if the share of equal files of a form is under its floor.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import os
import shutil
import struct
import sys
import tempfile
import warnings

# MKL's square roots are one bit off on some processors, so that two machines would export different numbers.
os.environ.setdefault("MKL_CBWR", "AVX2")

import numpy as np
import onnx
import onnxruntime as ort
import torch
from onnx import numpy_helper
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python"))
from onnx_tag.errors import TagsError  # noqa: E402
from onnx_tag.refitting import command  # noqa: E402

warnings.filterwarnings("ignore")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
ort.set_default_logger_severity(4)
torch.backends.mha.set_fastpath_enabled(False)

Case = collections.namedtuple("Case", "name form first second was now")

TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.float64: "F64",
         torch.bool: "BOOL", torch.int32: "I32"}


def save_safetensors(path, state):
    head, blobs, at = {}, [], 0
    for name, tensor in state.items():
        blob = tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        head[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        at += len(blob)
        blobs.append(blob)
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


FRESH = False


def randomize(model, seed):
    """New numbers in every parameter and buffer, as training would leave them; tied ones stay tied. With --fresh, vectors of
    the first seed stay as they were made: zeros and ones that exporters and optimizers merge."""
    generator = torch.Generator().manual_seed(seed)
    seen = set()
    for name, tensor in model.state_dict().items():
        if not tensor.is_floating_point() or tensor.data_ptr() in seen or tensor.numel() == 0:
            continue
        if "inv_freq" in name or "position_ids" in name or (FRESH and seed == 1 and tensor.dim() < 2):
            continue
        seen.add(tensor.data_ptr())
        noise = torch.randn(tensor.shape, generator=generator) * 0.1
        if name.endswith("running_var"):
            noise = noise.abs() + 0.5
        elif tensor.dim() == 1 and name.endswith("weight"):
            noise = noise + 1
        tensor.copy_(noise)
    return model.eval()


# ---------------------------------------------------------------- models
class ConvNet(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 20, 3, bias=bias)
        self.bn1 = nn.BatchNorm2d(20)
        self.conv2 = nn.Conv2d(20, 24, 3, groups=4, bias=bias)
        self.bn2 = nn.BatchNorm2d(24, eps=1e-3)
        self.up = nn.ConvTranspose2d(24, 18, 2, stride=2, bias=bias)
        self.bn3 = nn.BatchNorm2d(18)
        self.fc = nn.Linear(18, 17)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        x = torch.relu(self.bn3(self.up(x)))
        return self.fc(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(12, 10, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(20, 7)

    def forward(self, x):
        return self.fc(self.rnn(x)[0])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(50, 24, padding_idx=0)
        self.position = nn.Embedding(16, 24)
        layer = nn.TransformerEncoderLayer(24, 4, 40, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(24, 50, bias=False)
        self.head.weight = self.word.weight

    def forward(self, ids):
        x = self.word(ids) + self.position(torch.arange(ids.shape[1]))
        return self.head(self.encoder(x))


class Mlp(nn.Module):
    """Attention without biases, a learned number, and a norm."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32, bias=i % 2 == 0) for i in range(4))
        self.norm = nn.LayerNorm(32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
        self.scale = nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        h = self.norm(x)
        weights = torch.softmax(self.q(h) @ self.k(h).transpose(1, 2) * self.scale, -1)
        x = x + self.o(weights @ self.v(h))
        return x + self.down(torch.nn.functional.gelu(self.up(x))) * self.scale.exp()


class Folded(nn.Module):
    """Folds that refit does not know: norms of weights, a gathered table that is scaled, functions of parameters."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.first, self.last = nn.Linear(16, 24), nn.Linear(24, 8)
        if kind == "weight_norm":
            self.first = nn.utils.parametrizations.weight_norm(self.first)
            self.conv = nn.utils.weight_norm(nn.Conv1d(6, 6, 3, padding=1))
        elif kind == "spectral_norm":
            self.first = nn.utils.parametrizations.spectral_norm(self.first)
        self.table = nn.Parameter(torch.randn(11, 4))
        self.gamma = nn.Parameter(torch.randn(24))
        self.decay = nn.Parameter(torch.randn(24))

    def forward(self, x):
        h = torch.relu(self.first(x))
        if self.kind == "weight_norm":
            h = self.conv(h)
        elif self.kind == "gathered":
            places = torch.arange(6)[:, None] - torch.arange(6)[None] + 5
            bias = self.table[places].permute(2, 0, 1) * 3 + 1
            h = h + bias.repeat(2, 1, 4)[:2, :, :24]
        elif self.kind == "twice":
            h = h * self.table[:6].repeat(1, 6) + self.table.sum(0).repeat(6)
        elif self.kind == "functions":
            h = h * (1 + self.gamma) + torch.softmax(self.decay, 0) - torch.exp(self.decay)
        return self.last(h)


def unknown_models():
    for kind in ("weight_norm", "spectral_norm", "gathered", "twice", "functions"):
        yield f"unknown_{kind}", lambda kind=kind: Folded(kind), (torch.randn(2, 6, 16),)


def own_models():
    image, frames = (torch.randn(1, 3, 12, 12),), (torch.randn(2, 5, 12),)
    yield "conv", lambda: ConvNet(False), image
    yield "conv_bias", lambda: ConvNet(True), image
    yield "lstm", lambda: Recurrent(nn.LSTM), frames
    yield "gru", lambda: Recurrent(nn.GRU), frames
    yield "encoder", Encoder, (torch.randint(0, 50, (2, 8)),)
    yield "mlp", Mlp, (torch.randn(2, 6, 32),)


def zoo():
    import transformers as t

    ids = torch.randint(3, 90, (1, 9))
    small = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
             "max_position_embeddings": 40, "attn_implementation": "eager"}
    pixels = torch.randn(1, 3, 32, 32)

    def first(model, **fixed):
        class First(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = model

            def forward(self, x):
                out = self.inner(x, **fixed)
                return out[0] if not isinstance(out, torch.Tensor) else out

        # The state dict has the names of the model itself.
        wrapper = First()
        wrapper.state_dict = model.state_dict
        wrapper.load_state_dict = model.load_state_dict
        return wrapper

    def text(name, config, **fixed):
        return name.lower(), lambda: first(getattr(t, name)(config), return_dict=False, **fixed), (ids,)

    no_cache = {"use_cache": False}
    yield text("BertModel", t.BertConfig(**small))
    yield text("BertForMaskedLM", t.BertConfig(**small))
    yield text("RobertaModel", t.RobertaConfig(**small))
    yield text("DistilBertModel", t.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=40))
    yield text("ElectraModel", t.ElectraConfig(**small, embedding_size=16))
    yield text("GPT2LMHeadModel", t.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=40), **no_cache)
    yield text("LlamaForCausalLM", t.LlamaConfig(**small, num_key_value_heads=2), **no_cache)
    yield text("MistralForCausalLM", t.MistralConfig(**small, num_key_value_heads=2), **no_cache)
    yield text("Qwen2ForCausalLM", t.Qwen2Config(**small, num_key_value_heads=2, tie_word_embeddings=True), **no_cache)
    yield text("OPTForCausalLM", t.OPTConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=40, word_embed_proj_dim=32), **no_cache)
    yield text("GPTNeoXForCausalLM", t.GPTNeoXConfig(**small), **no_cache)
    yield text("T5EncoderModel", t.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4))
    vision = {"image_size": 32, "patch_size": 8, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    for name, config in (
        ("ViTModel", lambda: t.ViTConfig(**vision)),
        ("DeiTModel", lambda: t.DeiTConfig(**vision)),
        ("Dinov2Model", lambda: t.Dinov2Config(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, mlp_ratio=2)),
        ("ResNetModel", lambda: t.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 2], layer_type="basic")),
        ("RegNetModel", lambda: t.RegNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8)),
        ("MobileNetV2Model", lambda: t.MobileNetV2Config(image_size=32, depth_multiplier=0.35)),
        ("ConvNextModel", lambda: t.ConvNextConfig(hidden_sizes=[16, 24, 32, 40], depths=[1, 1, 1, 1], image_size=32)),
        ("SwinModel", lambda: t.SwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4)),
    ):
        yield name.lower(), (lambda name=name, config=config: first(getattr(t, name)(config()), return_dict=False)), (pixels,)


def export(model, inputs, exporter, path):
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        if exporter == "dynamo":
            torch.onnx.export(model, inputs, path, dynamo=True, external_data=False, verbose=False)
        else:
            torch.onnx.export(model, inputs, path, dynamo=False, opset_version=17, input_names=["x"], output_names=["y"])


# ---------------------------------------------------------------- forms
def ort_level(level):
    def make(path, out, _inputs, _first):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = out
        ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return make


def slim(path, out, _inputs, _first):
    import onnxslim

    onnx.save(onnxslim.slim(onnx.load(path)), out)


def sim(path, out, _inputs, _first):
    import onnxsim

    onnx.save(onnxsim.simplify(onnx.load(path))[0], out)


def fp16(path, out, _inputs, _first):
    from onnxruntime.transformers.float16 import convert_float_to_float16

    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), out)


def dynamic(kind, per_channel):
    def make(path, out, _inputs, _first):
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(path, out, weight_type=getattr(QuantType, kind), per_channel=per_channel)
    return make


def qdq(per_channel):
    def make(path, out, inputs, first):
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

        class Reader(CalibrationDataReader):
            def __init__(self):
                name = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()[0].name
                self.items = iter([{name: inputs[0].numpy()}])

            def get_next(self):
                return next(self.items, None)

        # The scales of activations come from data: those of the first file are given.
        extra = {}
        if first:
            extra["TensorQuantOverrides"] = activation_scales(first, path)
        quantize_static(path, out, Reader(), quant_format=QuantFormat.QDQ, per_channel=per_channel, weight_type=QuantType.QInt8,
                        activation_type=QuantType.QUInt8, extra_options=extra)
    return make


def activation_scales(quantized, plain):
    model = onnx.load(quantized)
    weights = {i.name for i in onnx.load(plain).graph.initializer}
    values = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear" and node.input[0] not in weights and node.input[1] in values:
            scale, zero = values[node.input[1]], values[node.input[2]]
            found[node.input[0]] = [{"scale": np.array(scale, dtype=np.float32), "zero_point": np.array(zero)}]
    return found


def data_scales(model):
    """Scales and zero points of activations: they come from data, not from weights."""
    weights = {i.name for i in model.graph.initializer}
    return {name for node in model.graph.node if node.op_type in ("QuantizeLinear", "DequantizeLinear")
            and node.input[0] not in weights for name in node.input[1:]}


def nbits(bits, symmetric, rtn):
    def make(path, out, _inputs, _first):
        from onnxruntime.quantization import matmul_nbits_quantizer as q

        model = onnx.load(path)
        if rtn:
            config = q.RTNWeightOnlyQuantConfig(ratios={})
            config.bits = bits
            quantizer = q.MatMulNBitsQuantizer(model, bits=bits, block_size=32, is_symmetric=symmetric, algo_config=config)
        else:
            config = q.DefaultWeightOnlyQuantConfig(block_size=16, is_symmetric=symmetric, bits=bits)
            quantizer = q.MatMulNBitsQuantizer(model, algo_config=config)
        quantizer.process()
        quantizer.model.save_model_to_file(out)
    return make


LEVEL = ort.GraphOptimizationLevel
FORMS = {
    "plain": lambda path, out, _inputs, _first: shutil.copy(path, out),
    "ort_basic": ort_level(LEVEL.ORT_ENABLE_BASIC),
    "ort_extended": ort_level(LEVEL.ORT_ENABLE_EXTENDED),
    "onnxslim": slim,
    "onnxsim": sim,
    "fp16": fp16,
    "dynamic_int8": dynamic("QInt8", False),
    "dynamic_uint8": dynamic("QUInt8", False),
    "dynamic_channel": dynamic("QInt8", True),
    "qdq": qdq(False),
    "qdq_channel": qdq(True),
    "nbits4": nbits(4, True, False),
    "nbits4_asym": nbits(4, False, False),
    "nbits8": nbits(8, True, False),
    "nbits4_rtn": nbits(4, True, True),
}
# Files whose tensors must all be equal to those of the second export, in percent: of the small models, of which one has a
# number that no tool computes to the last bit alike (exp), and of all.
FLOORS = {False: 80, True: 95}


# ---------------------------------------------------------------- measuring
def tensors(path):
    model = onnx.load(path)
    found = [(i.name, numpy_helper.to_array(i)) for i in model.graph.initializer]
    for node in model.graph.node:
        if node.op_type == "Constant":
            found += [(node.output[0], numpy_helper.to_array(a.t)) for a in node.attribute if a.name == "value"]
    return found


def reads(path):
    """What each input of each node reads, as (tensor, numbers), by the node's place without nodes that only rename."""
    model = onnx.load(path)
    values = dict(tensors(path))
    names = {name: name for name in values}
    found, place = {}, 0
    for node in model.graph.node:
        if node.op_type == "Identity" and node.input[0] in names:
            names[node.output[0]] = names[node.input[0]]
            continue
        for slot, name in enumerate(node.input):
            if name in names:
                found[place, node.op_type, slot] = names[name], values[names[name]]
        place += node.op_type != "Constant"
    return found


def refit(model, was, now, out, **more):
    """(exit code, the table as JSON, what is wrong), as the command would give them."""
    try:
        answer = command.refit(model, now, was, out, force=True, **more)
    except TagsError as error:
        return error.exit_code, {}, str(error)
    return int(bool(answer.finding)), answer.document(model), answer.finding


def compare(first, second, was, now, work):
    """Counts of tensors by what became of them, and their names."""
    code, answer, error = refit(first, was, now, f"{work}/out.onnx", partial=True)
    if code not in (0, 1):
        raise RuntimeError(f"exit {code}: {error[:500]}")
    rows = answer["tensors"]
    counts, names = collections.Counter(), collections.defaultdict(list)
    new, got = dict(tensors(second)), dict(tensors(f"{work}/out.onnx"))
    pairs = [(name, new[name], got[name]) for name in got if name in new]
    if set(new) != set(got):
        # One exporter merges equal tensors: what each node reads must be equal then.
        new, got = reads(second), reads(f"{work}/out.onnx")
        if set(new) != set(got):
            return None, {"names differ": []}
        pairs = [(name, new[place][1], value) for place, (name, value) in got.items()]
    fates = {row["tensor"]: row for row in rows}
    from_data = data_scales(onnx.load(first))
    for name, b, c in pairs:
        row = fates.get(name, {"fate": "kept", "why": "not listed"})
        if row["fate"] == "refused":
            kind = "refused"
        elif name in from_data and row["fate"] == "kept":
            kind = "kept"
        elif b.tobytes() == c.tobytes() and b.dtype == c.dtype:
            kind = "equal" if row["fate"] == "written" else "kept"
        else:
            kind = "WRONG"
        counts[kind] += 1
        if kind in ("WRONG", "refused"):
            names[kind].append(f"{name} {list(c.shape)} {c.dtype} {row.get('transform')} {row.get('parameters')} {row.get('why')}")
    return counts, names


def make_cases(models, exporters, forms, folder, verbose):
    """Exports each model with two seeds into `folder`, in every form. What is there already is not made again."""
    for name, make, inputs in models:
        for exporter in exporters:
            at = f"{folder}/{name}_{exporter}"
            pair = [f"{at}.{seed}.onnx" for seed in (1, 2)]
            was, now = (f"{at}.{seed}.safetensors" for seed in (1, 2))
            if not os.path.exists(f"{at}.made"):
                try:
                    for seed in (1, 2):
                        torch.manual_seed(0)
                        model = randomize(make(), seed)
                        save_safetensors(f"{at}.{seed}.safetensors", model.state_dict())
                        export(model, inputs, exporter, pair[seed - 1])
                except Exception as error:  # noqa: BLE001 - models that do not export are not measured
                    print(f"{name} {exporter}: not exported: {str(error)[:100]!r}", flush=True)
                    continue
                open(f"{at}.made", "w").close()
            for form in forms:
                first, second = (f"{at}.{form}{seed}.onnx" for seed in (1, 2))
                if not os.path.exists(second):
                    try:
                        FORMS[form](pair[0], first, inputs, None)
                        FORMS[form](pair[1], second, inputs, first)
                    except Exception as error:  # noqa: BLE001
                        if verbose:
                            print(f"{name} {exporter} {form}: not made: {str(error)[:200]!r}", flush=True)
                        first = None
                yield Case(f"{name} {exporter} {form}", form, first, second, was, now)


def measure(cases, work, verbose):
    totals = collections.defaultdict(collections.Counter)
    wrong = 0
    for case in cases:
        total = totals[case.form]
        if case.first is None:
            total["not made"] += 1
            continue
        try:
            counts, names = compare(case.first, case.second, case.was, case.now, work)
        except Exception as error:  # noqa: BLE001 - a traceback is a defect, too
            print(f"{case.name}: {type(error).__name__}: {error}")
            total["failed"] += 1
            continue
        if counts is None:
            total["other names"] += 1
            continue
        total.update(counts)
        total["files"] += 1
        total["whole files"] += not counts["refused"] and not counts["WRONG"]
        wrong += counts["WRONG"]
        if verbose or counts["WRONG"]:
            print(f"{case.name}: {dict(counts)}")
            for kind in names:
                for line in names[kind][: 40 if kind == "WRONG" else 6]:
                    print(f"    {kind}: {line}")
            sys.stdout.flush()
    return totals, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--zoo", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--unknown", action="store_true")
    parser.add_argument("--models", default="")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--exporters", default="script,dynamo")
    parser.add_argument("--cases", default="", help="a folder where exports are kept, and used again")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    os.environ["ONNX_TAG_PROGRAM"] = os.path.abspath(args.tool)
    global FRESH  # noqa: PLW0603
    FRESH = args.fresh
    models = list(unknown_models()) if args.unknown else list(own_models()) + (list(zoo()) if args.zoo else [])
    if args.models:
        models = [m for m in models if m[0] in args.models.split(",")]
    with tempfile.TemporaryDirectory() as work:
        folder = args.cases or work
        os.makedirs(folder, exist_ok=True)
        cases = make_cases(models, args.exporters.split(","), args.forms.split(","), folder, args.v)
        totals, wrong = measure(cases, work, args.v)
    columns = ["files", "whole files", "equal", "kept", "refused", "WRONG", "other names", "not made", "failed"]
    print("form             " + " ".join(f"{c:>11}" for c in columns))
    failed = wrong > 0
    for form, counts in totals.items():
        print(f"{form:16} " + " ".join(f"{counts[c]:>11}" for c in columns))
        failed |= not (args.fresh or args.models or args.unknown) and 100 * counts["whole files"] < FLOORS[args.zoo] * counts["files"]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
