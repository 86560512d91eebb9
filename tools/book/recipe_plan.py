"""Everything the recipe book is made from, in order: which environment records what of which library, and how.

What comes first is worth most, so a run that is stopped has made the best of its time. What a step finds made by an
earlier one it leaves alone.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Tuple

TORCH = "2.13.0"
LATEST = "transformers-5.22.2"

# Environments, each with torch and the packages of requirements.txt beside it; installed without their dependencies,
# because these ask for other versions of torch.
ENVIRONMENTS: Dict[str, List[str]] = {
    LATEST: ["transformers==5.22.2", "timm==1.0.30", "torchvision==0.29.2", "diffusers==0.42.1", "ultralytics==8.4.190",
             "scipy", "einops", "requests", "urllib3", "certifi", "charset_normalizer", "idna", "importlib_metadata", "zipp",
             "opencv-python-headless", "psutil", "polars", "matplotlib", "pandas", "pytz", "python-dateutil", "six", "tzdata",
             "loguru", "tabulate", "seaborn", "thop", "pyparsing", "cycler", "kiwisolver", "contourpy", "fonttools"],
    "transformers-4.57.6": ["transformers==4.57.6", "tokenizers==0.22.2", "huggingface_hub==0.36.2"],
    "transformers-4.45.2": ["transformers==4.45.2", "tokenizers==0.20.3", "huggingface_hub==0.29.3"],
    "transformers-4.36.2": ["transformers==4.36.2", "tokenizers==0.15.2", "huggingface_hub==0.25.2"],
    "transformers-4.30.2": ["transformers==4.30.2", "tokenizers==0.13.3", "huggingface_hub==0.23.5"],
}


@dataclass(frozen=True)
class Source:
    """A project that is no package: its files at one commit, on the path of the newest environment."""
    address: str
    commit: str
    version: str                # of the project, else the day of the commit


SOURCES: Dict[str, Source] = {
    "paddleocr2pytorch": Source("https://github.com/frotms/PaddleOCR2Pytorch",
                                "ceb7e618dc183c37f362455e451ccdbc1e2ca716", "2026.6.22"),
    "yolox": Source("https://github.com/Megvii-BaseDetection/YOLOX", "6ddff4824372906469a7fae2dc3206c7aa4bbaee", "0.3.0"),
    "yolov5": Source("https://github.com/ultralytics/yolov5", "5081342f04fb287fc2e5f2b5a4e06752b7937b1c", "7.0"),
}


@dataclass(frozen=True)
class Step:
    library: str
    exporters: Tuple[str, ...]
    environment: str = LATEST
    parts: Tuple[str, ...] = ("main", "variants", "base", "heads")
    popular: int = 0            # so many families of transformers, or so many of the first models; 0 is all


TS, STATIC, OLD_OPSET, DYNAMO = ("ts17",), ("st17",), ("ts14",), ("dyn",)
MAIN, STRUCTURES = ("main",), ("main", "variants", "base")

PLAN: List[Step] = [
    Step("torch", TS + DYNAMO),
    Step("torchvision", TS),
    Step("ultralytics", TS, popular=40),
    Step("diffusers", TS),
    Step("paddleocr", TS),
    Step("yolox", TS + DYNAMO),
    Step("transformers", TS, parts=STRUCTURES),
    Step("transformers", TS + STATIC, "transformers-4.30.2", popular=40),
    Step("transformers", DYNAMO, parts=MAIN, popular=30),
    Step("transformers", OLD_OPSET, parts=MAIN, popular=40),
    Step("transformers", STATIC, parts=MAIN, popular=40),
    Step("transformers", TS + DYNAMO, parts=("past",), popular=100),
    Step("transformers", TS, "transformers-4.30.2", ("past",), popular=100),
    Step("timm", TS),
    Step("timm", DYNAMO, popular=16),
    Step("torchvision", DYNAMO, popular=16),
    Step("transformers", STATIC, "transformers-4.45.2", MAIN, popular=25),
    Step("transformers", TS, parts=("heads",), popular=40),
    Step("transformers", DYNAMO, "transformers-4.57.6", MAIN, popular=25),
    Step("transformers", STATIC, "transformers-4.36.2", MAIN, popular=25),
    Step("transformers", TS, "transformers-4.57.6", MAIN, popular=60),
    Step("transformers", TS, "transformers-4.45.2", MAIN, popular=60),
    Step("transformers", TS, "transformers-4.36.2", MAIN, popular=60),
    # What TorchScript cannot export, among others.
    Step("transformers", DYNAMO, parts=MAIN),
]
