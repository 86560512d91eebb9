"""Reads what catalogue_dump.py wrote: the trees of one library, with classes by their names in the catalogue."""
from __future__ import annotations

import json
import pathlib
import re
from typing import Any, Dict, List, Set, Tuple

CONTAINERS = {"ModuleList", "Sequential", "ModuleDict", "ParameterList", "ParameterDict"}
PARTS = ("activations", "sources")      # dumps of transformers besides its default models
LOOSE = ("ParameterList", "ParameterDict")

Kids = Tuple[Tuple[str, int, str], ...]         # (key, node, origin), keys one by one
Node = Tuple[Tuple[str, str], Tuple[str, ...], Tuple[str, ...], Kids]


def home(name: str) -> Tuple[str, str]:
    """(section, class) of a Python class: all of torch.nn is one section, and deprecated models keep their old one."""
    module, _, cls = name.rpartition(".")
    module = module.split(".<locals>")[0].replace(".models.deprecated.", ".models.")
    if re.match(r"torch\.nn\.modules\.|torch\.nn$", module):
        module = "torch.nn"
    while module.rpartition(".")[2][:1].isupper():
        module = module.rpartition(".")[0]
    return module, cls


def alias_of(module: str) -> str:
    """transformers.models.bert.modeling_bert is tf.bert; timm.models.vision_transformer is timm.vision_transformer."""
    parts = module.split(".")
    if module.startswith("transformers.models."):
        last = re.sub(r"^modeling_?", "", parts[-1])
        return "tf." + (parts[2] if last in ("", parts[2]) else f"{parts[2]}.{last}")
    parts = [part for part in parts if part not in ("models", "modules")]
    return ".".join(["tf" if parts[0] == "transformers" else parts[0], *parts[1:]])


class Tree:
    """One dump, with classes by their names in the catalogue."""

    def __init__(self, path: pathlib.Path) -> None:
        content = json.loads(path.read_text())
        self.library, self.version = content["library"], content["version"]
        self.beside: str = content.get("transformers", "")     # the version of transformers its parts are from
        self.package = "transformers" if self.library in PARTS else self.library
        self.names = [home(name) for name in content["classes"]]
        self.roots: List[Dict[str, Any]] = content["roots"]
        self.words: Dict[str, List[str]] = {}
        for module, words in content["words"].items():
            self.words.setdefault(home(module + ".X")[0], []).extend(words)
        self.failures: List[List[str]] = content["failures"]
        self.source: List[List[Any]] = content.get("source", [])
        self.nodes: List[Node] = []
        for cls, params, buffers, kids in content["nodes"]:
            flat = tuple((key, node, origin) for keys, node, origin in kids for key in keys.split(" "))
            own = tuple(dict.fromkeys("*" if self.names[cls][1] in LOOSE else key for key in params))
            self.nodes.append((self.names[cls], own, tuple(buffers), flat))
        self.counts: Dict[int, List[int]] = {}
        for root in self.roots:
            for node in self.below(root["node"]):
                self.counts.setdefault(node, [0, 0])[bool(root["variant"])] += 1
        self.flat: Dict[int, frozenset] = {}

    def below(self, top: int) -> Set[int]:
        found, queue = {top}, [top]
        while queue:
            for _, kid, _ in self.nodes[queue.pop()][3]:
                if kid not in found:
                    found.add(kid)
                    queue.append(kid)
        return found

    def container(self, node: int) -> bool:
        section, name = self.nodes[node][0]
        return section == "torch.nn" and name in CONTAINERS

    def paths(self, node: int) -> frozenset:
        """Modules and parameters below a node, as relative paths; a parameter has a leading `.` at its last step."""
        if node not in self.flat:
            _, params, _, kids = self.nodes[node]
            found = {"." + name for name in params}
            for key, kid, _ in kids:
                found.add(key)
                found.update(f"{key}.{path}" if path[0] != "." else key + path for path in self.paths(kid))
            self.flat[node] = frozenset(found)
        return self.flat[node]
