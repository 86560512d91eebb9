"""A pass for Olive's workflows that tags the model it is given.

Olive finds passes of others through a package configuration. Write one that has Olive's own passes and this one, and
name it when you run the workflow:

    python -m onnx_tag.olive package.json
    olive run --config workflow.json --package-config package.json

    "passes": {"tag": {"type": "OnnxTag", "min_coverage": 90}}
"""
from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict

from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.package_config import OlivePackageConfig
from olive.passes import Pass
from olive.passes.pass_config import PassConfigParam

from .errors import OutputError
from .outputs import Inputs, write
from .tagging import tag

_TEXTS = {
    "strategy": "how nodes are tagged; see onnx-tag strategies",
    "granularity": "classes in tags: hf or torch_nn",
    "hierarchy": "a recorded module map",
    "trace": "a recorded run",
    "fx": "a recorded FX graph",
    "rules": "a file with rules of your own",
}


class OnnxTag(Pass):                                        # type: ignore[misc]
    """Writes the module of each node into the model's metadata, and a sidecar beside the model."""

    @classmethod
    def _default_config(cls, accelerator_spec: Any) -> Dict[str, Any]:
        config = {name: PassConfigParam(type_=str, default_value=None, description=text)
                  for name, text in _TEXTS.items()}
        config["min_coverage"] = PassConfigParam(
            type_=float, default_value=None, description="per cent of the nodes that must be tagged")
        return config

    def _run_for_config(self, model: Any, config: Any, output_model_path: str) -> Any:
        output = resolve_onnx_path(output_model_path)
        os.makedirs(os.path.dirname(output), exist_ok=True)
        options = {name: getattr(config, name) for name in (*_TEXTS, "min_coverage")}
        # Olive's cache must hold the weights, too.
        tag(model.model_path, output, data="copy", force=True, **options)
        return ONNXModelHandler(model_path=output, model_attributes=model.model_attributes)


def package_config() -> Dict[str, Any]:
    """Olive's default package configuration with this pass added."""
    with open(OlivePackageConfig.get_default_config_path(), encoding="utf-8") as file:
        config: Dict[str, Any] = json.load(file)
    every = ["*"]
    config["passes"]["OnnxTag"] = {"module_path": f"{__package__}.olive.OnnxTag", "supported_providers": every,
                                   "supported_accelerators": every, "supported_precisions": every}
    return config


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m onnx_tag.olive PACKAGE_CONFIG.json")
    try:
        write(sys.argv[1], json.dumps(package_config(), indent=2).encode(), Inputs())
    except OutputError as error:
        print(f"onnx_tag: {error}", file=sys.stderr)
        sys.exit(4)
