#!/usr/bin/env python3
"""Scores `tap` and `check-weights` against living PyTorch models with random weights.

    live_truth.py tap BINARY [--model GLOB] [--export ts|dyn] [--verbose]
    live_truth.py weights BINARY [--model GLOB] [--export ts|dyn] [--verbose]

tap: the model runs in PyTorch with a hook on every module, and its exports (TorchScript and dynamo) run in ONNX Runtime
with every module tapped. The plain name of a module must have the values that the module returned (of several tensors,
the first). Modules that ran several times, that return what they got, or whose values the export does not have at
all (a convolution with a folded norm) are counted apart.

weights: both exports of models with BatchNorm, checked against the names and shapes of the state_dict. A complete
export must pass.
"""
from __future__ import annotations

import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Callable, Dict, Iterator, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models.library_setup import Late, limit, stand_in_for_operators

stand_in_for_operators()

from models import more_models  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from models import zoo  # noqa: E402
from truth.make_truth import quiet  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from models.zoo import Example, noise  # noqa: E402

TIMM = ("resnet18", "regnetx_002", "efficientnet_b0", "mobilenetv3_small_100", "densenet121", "convnext_atto",
        "vit_tiny_patch16_224", "deit_tiny_patch16_224", "mixer_s32_224", "swin_tiny_patch4_window7_224",
        "levit_128s", "ghostnet_050", "cspresnet50", "hrnet_w18_small", "mobileone_s0", "repvgg_a0", "poolformer_s12",
        "fastvit_t8", "edgenext_xx_small", "xcit_nano_12_p16_224", "resnext26ts", "dla34", "vgg11_bn", "mnasnet_small",
        "tf_efficientnetv2_b0", "inception_v3", "seresnext26d_32x4d", "rexnet_100", "nf_regnet_b0", "coat_lite_tiny")


def of_timm(name: str) -> Callable[[], Example]:
    def make() -> Example:
        from book.recordings_timm import timm_model
        model, size = timm_model(name)
        return Example(model, {"x": noise(1, *size)}, ["y"])
    return make


def models() -> Dict[str, Callable[[], Example]]:
    return {**zoo.ZOO, **{name: make for name, make in more_models.MODELS.items() if name != "yolov8"},
            **{"timm_" + name: of_timm(name) for name in TIMM}}


def tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)


Call = Tuple[List[np.ndarray], List[np.ndarray]]


def run_live(example: Example) -> Dict[str, List[Call]]:
    """What every call of every module took and returned."""
    calls: Dict[str, List[Call]] = {}
    hooks = []
    for path, module in example.model.named_modules():
        def hook(_: nn.Module, took: object, named: object, gave: object, path: str = path) -> None:
            calls.setdefault(path, []).append(([t.detach().numpy().copy() for t in (*tensors(took), *tensors(named))],
                                               [t.detach().numpy().copy() for t in tensors(gave)]))
        hooks.append(module.register_forward_hook(hook, with_kwargs=True))
    with torch.no_grad():
        example.model(**example.inputs)
    for one in hooks:
        one.remove()
    return calls


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype.kind == b.dtype.kind and bool(
        np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(b).max(initial=0)))))


def run_onnx(model: onnx.ModelProto, feeds: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    given = {i.name: feeds[i.name] for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, given)))


def all_values(path: pathlib.Path, feeds: Dict[str, np.ndarray]) -> List[np.ndarray]:
    model = onnx.load(str(path))
    del model.graph.value_info[:]
    known = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(t) for node in model.graph.node
                              for t in node.output if t and t not in known)
    return [v for v in run_onnx(model, feeds).values() if isinstance(v, np.ndarray)]


EXPORTS = {"ts": zoo.export_torchscript, "dyn": zoo.export_dynamo}


def exports(name: str, make: Callable[[], Example], folder: pathlib.Path) -> Iterator[Tuple[str, Example, pathlib.Path]]:
    for kind, export in EXPORTS.items():
        path = folder / f"{kind}.onnx"
        try:
            with quiet(), limit(400):
                example = zoo.build(make)
                export(example, str(path))
        except (Exception, SystemExit, Late) as error:
            print(f"{name}/{kind}: not exported: {str(error).splitlines()[0][:100] if str(error) else error!r}",
                  file=sys.stderr)
            continue
        yield kind, example, path


def score_tap(binary: str, name: str, kind: str, example: Example, path: pathlib.Path, verbose: bool) -> Counter:
    feeds = {k: v.numpy() for k, v in example.inputs.items()}
    live = run_live(example)
    tapped = path.with_suffix(".tapped.onnx")
    run = subprocess.run([binary, "tap", str(path), "--module", "**", "-o", str(tapped), "--json", "--force"],
                         capture_output=True, text=True, check=True)
    first: Dict[str, dict] = {}
    for tap in json.loads(run.stdout)["taps"]:
        first.setdefault(tap["module"], tap)
    results = run_onnx(onnx.load(str(tapped)), feeds)
    values: Optional[List[np.ndarray]] = None
    count: Counter = Counter()
    for module, tap in first.items():
        if module not in live:
            count["not called"] += 1            # a list, or a part that is only read
            continue
        if len(live[module]) != 1:
            count["called often"] += 1
            continue
        took, gave = live[module][0]
        floats = [g for g in gave if g.dtype.kind == "f"] or gave
        if not floats:
            continue
        value = results[tap["output"]]
        if same(value, floats[0]):
            count["right"] += 1
            continue
        if any(same(t, floats[0]) for t in took):
            count["returns its input"] += 1
            continue
        if values is None:
            values = all_values(path, feeds)
        if not any(same(v, floats[0]) for v in values):
            count["not in the file"] += 1
            continue
        count["another" if any(same(value, f) for f in gave[1:]) else "wrong"] += 1
        if verbose:
            print(f"  {name}/{kind} {module or '<root>'}: {tap['value']} {tuple(value.shape)} {value.dtype}, "
                  f"not {tuple(floats[0].shape)}")
    return count


SAFE_TYPES = {torch.float32: "F32", torch.float16: "F16", torch.int64: "I64", torch.int32: "I32", torch.bool: "BOOL",
              torch.float64: "F64"}


def write_safetensors(model: nn.Module, path: pathlib.Path) -> None:
    """The header, and zeros: check-weights reads names and shapes."""
    header, end = {}, 0
    for key, tensor in model.state_dict().items():
        size = tensor.numel() * tensor.element_size()
        header[key] = {"dtype": SAFE_TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * end)


def score_weights(binary: str, name: str, kind: str, example: Example, path: pathlib.Path, verbose: bool) -> Counter:
    if not any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in example.model.modules()):
        return Counter()
    state = path.with_suffix(".safetensors")
    write_safetensors(example.model, state)
    run = subprocess.run([sys.executable, "-m", "onnx_tag", "check-weights", str(path), str(state)], capture_output=True,
                         text=True, env={**os.environ, "ONNX_TAG_PROGRAM": os.path.abspath(binary)})
    if run.returncode and verbose:
        lines = (run.stdout + run.stderr).splitlines()
        print(f"  {name}/{kind}:", *lines[-12:], sep="\n    ")
    return Counter({"right" if run.returncode == 0 else "wrong": 1})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tap", "weights"))
    parser.add_argument("binary")
    parser.add_argument("--model", default="*")
    parser.add_argument("--export", choices=tuple(EXPORTS))
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    for kind in [kind for kind in EXPORTS if arguments.export not in (None, kind)]:
        del EXPORTS[kind]
    score = {"tap": score_tap, "weights": score_weights}[arguments.what]
    total: Dict[str, Counter] = {kind: Counter() for kind in EXPORTS}
    used = set()
    torch.set_num_threads(1)
    for name, make in models().items():
        if not fnmatch.fnmatch(name, arguments.model):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for kind, example, path in exports(name, make, pathlib.Path(scratch)):
                try:
                    with limit(400):
                        count = score(arguments.binary, name, kind, example, path, arguments.verbose)
                except (Exception, Late) as error:
                    print(f"{name}/{kind}: not scored: {str(error).splitlines()[0][:150]}", file=sys.stderr)
                    continue
                if not count:
                    continue
                used.add(name)
                total[kind] += count
                print(f"{name + '/' + kind:36}", *(f"{k} {v}" for k, v in sorted(count.items())), sep="  ", flush=True)
    for kind, count in total.items():
        judged = count["right"] + count["wrong"] + count["another"]
        print(f"{kind}: {len(used)} models, {count['right']} of {judged} right "
              f"({100 * count['right'] / max(judged, 1):.2f} %); " +
              ", ".join(f"{k} {v}" for k, v in sorted(count.items()) if k != "right"))


if __name__ == "__main__":
    main()
