"""Models of ultralytics for the recipe book: every description it has that needs no text, in its smallest scale.

The larger scales of some have other blocks, and are there too. Each is made as `yolo export format=onnx` prepares it,
with norms folded into convolutions, and as torch.onnx.export gets it from the bare model.
"""
from __future__ import annotations

import os
import pathlib
import re
import tempfile
from importlib.metadata import version
from typing import Iterator, Tuple

import torch

from catalogue.catalogue_libraries import YOLO_TASKS
from book.recordings_common import Made, finished
from models.zoo import Example, noise

FIRST = ("yolov8 yolov5 yolo11 yolov8-seg yolov8-pose yolov8-cls yolo11:m yolo11-seg yolo11-pose yolo11-cls yolo11-obb "
         "yolov10n yolov9t yolo12 yolo26 yolov8-obb yolov9c yolov3-tiny yolov10m yolo26-seg rtdetr-l yolov6 yolov9s "
         "yolov3 yolo11-seg:m yolo12:l yolo26:m yolov5-p6 yolov8-p2 rtdetr-resnet50").split()
HEADS = ("Segment", "Pose", "OBB", "Classify")


def yolo_example(file: pathlib.Path, scale: str, fused: bool) -> Example:
    from ultralytics.nn import modules, tasks
    kind = next(kind for mark, kind in YOLO_TASKS if re.search(mark, file.stem))
    content = tasks.yaml_model_load(file)
    scales = content.get("scales", {"": 0})
    content["scale"] = scale if scale in scales else next(iter(scales))
    torch.manual_seed(0)
    model = getattr(tasks, kind)(content, verbose=False)
    model.eval().float()
    if fused:
        model.fuse(verbose=False)
    for module in model.modules():
        if hasattr(module, "export") or "Detect" in type(module).__name__ or type(module).__name__ in HEADS:
            module.export, module.format, module.dynamic = True, "onnx", False
            if hasattr(module, "max_det"):
                module.max_det = 30
        elif isinstance(module, modules.C2f):
            module.forward = module.forward_split
    size = 224 if "-cls" in file.stem else 640 if "rtdetr" in file.stem else 320
    return finished(model, {"x": noise(1, 3, size, size)})


def place(word: str) -> Tuple[int, str]:
    return (FIRST.index(word) if word in FIRST else len(FIRST), word)


def ultralytics_models() -> Iterator[Made]:
    os.environ["YOLO_CONFIG_DIR"] = tempfile.gettempdir()
    import ultralytics
    base = pathlib.Path(ultralytics.__file__).parent / "cfg" / "models"
    files = {file.stem: file for file in base.rglob("*.yaml") if not re.search("yoloe|world", file.stem)}
    words = [*files, *(word for word in FIRST if ":" in word)]
    for fused in (True, False):
        for word in sorted(words, key=place):
            stem, _, scale = word.partition(":")
            family = "ultralytics_" + re.match(r"[a-z]+[-_]?v?\d*", stem).group(0)
            label = word.replace("-", "_").replace(":", "_") + ("_fused" if fused else "")
            yield family, f"ultralytics-{version('ultralytics')}-{label}", (
                lambda file=files[stem], scale=scale or "n", fused=fused: yolo_example(file, scale, fused))
