#!/usr/bin/env python3
"""Tries to make every command write over what it reads, or over the weights of another model.

    check_data_loss.py BINARY

The program, its reports, links to inputs, standard output that is an input, and the companion. Each case starts with new files;
all files that were there must have the same bytes afterwards, under the same names, but for those that the command may replace.
One line for each case; exit 1 where something was lost.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, Dict, List, Optional, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEIGHTS = "x.onnx.data"
OURS = ("m.tagged.onnx", "m.stripped.onnx", "m.report.html", "out.onnx", "out.onnx.data", "zoo.report.html")


def small(weights: Optional[str] = None) -> onnx.ModelProto:
    """Two modules; the weights inside, or in a file of this name."""
    tensors = [onnx.numpy_helper.from_array(np.full((4, 4), value, np.float32), name)
               for value, name in ((1, "a.weight"), (2, "b.weight"))]
    for place, tensor in enumerate(tensors if weights else []):
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in (("location", weights), ("offset", str(64 * place)), ("length", "64")):
            tensor.external_data.add(key=key, value=text)
    nodes = [helper.make_node("MatMul", ["x", "a.weight"], ["y"], name="/a/MatMul"),
             helper.make_node("MatMul", ["y", "b.weight"], ["z"], name="/b/MatMul")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 4])],
                              [helper.make_tensor_value_info("z", 1, [1, 4])], tensors)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


class Cases:
    def __init__(self, binary: str) -> None:
        self.binary = binary
        self.count = self.lost = 0

    def tool(self, *words: str) -> int:
        return subprocess.run([self.binary, *words], capture_output=True, stdin=subprocess.DEVNULL).returncode

    def prepare(self) -> None:
        onnx.save(small(), "m.onnx")
        onnx.save(small(), "other.onnx")
        pathlib.Path(WEIGHTS).write_bytes(np.repeat(np.float32([1, 2]), 16).tobytes())
        pathlib.Path("x.onnx").write_bytes(small(WEIGHTS).SerializeToString())
        pathlib.Path("numbers.tsv").write_text("name\tms\n/a/MatMul\t1\n")
        np.savez("in.npz", x=np.ones((1, 4), np.float32))
        os.mkdir("out")
        os.mkdir("zoo")
        onnx.save(small(), "zoo/m.onnx")
        pathlib.Path("zoo/y.onnx").write_bytes(small("m.report.html").SerializeToString())
        shutil.copy(WEIGHTS, "zoo/m.report.html")
        self.tool("tag", "m.onnx", "-q")

    def case(self, what: str, run: Callable[[], int], setup: Optional[Callable[[], object]] = None,
             may: Sequence[str] = ()) -> None:
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                self.prepare()
                if setup is not None:
                    setup()
                before = contents()
                code = run()
                after = contents()
            finally:
                os.chdir(here)
        self.count += 1
        lost = [name for name, data in before.items() if after.get(name) != data and name not in (*OURS, *may)]
        self.lost += bool(lost)
        print(f"{self.count:3} {what:72} exit {code:3} {'LOST ' + ', '.join(lost) if lost else 'kept'}", flush=True)

    def words(self, text: str, **options: object) -> None:
        self.case(text, lambda: self.tool(*text.split()), **options)  # type: ignore[arg-type]

    def printed(self, command: str, onto: str, mode: str = "r+b") -> None:
        """Standard output is a file that the command reads."""
        def run() -> int:
            with open(onto, mode) as out:
                return subprocess.run([self.binary, *command.split()], stdout=out, stderr=subprocess.DEVNULL,
                                      stdin=subprocess.DEVNULL).returncode
        self.case(f"{command} {'>>' if mode == 'ab' else '1<>'} {onto}", run)

    def companion(self, text: str, **options: object) -> None:
        def run() -> int:
            env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "ONNX_TAG_PROGRAM": self.binary}
            return subprocess.run([sys.executable, "-m", "onnx_tag", *text.split()], capture_output=True,
                                  stdin=subprocess.DEVNULL, env=env).returncode
        self.case("companion: " + text, run, **options)  # type: ignore[arg-type]


def contents() -> Dict[str, bytes]:
    """Every file, and where every link leads."""
    found: Dict[str, bytes] = {}
    for path in sorted(pathlib.Path(".").rglob("*")):
        if path.is_symlink():
            found[str(path)] = b"link " + os.readlink(path).encode()
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found


def program(cases: Cases) -> None:
    cases.words("transfer m.tagged.onnx other.onnx -o m.tagged.onnx")
    cases.words("transfer m.onnx other.onnx -o m.onnx --force")
    cases.words("transfer m.tags.json other.onnx -o out.onnx --sidecar m.tags.json --force")
    cases.words("transfer x.onnx m.onnx -o x.onnx.data --force")
    for form in ("graphml", "tsv", "netron"):
        cases.words(f"export m.onnx --to {form} -o m.onnx --force")
        cases.words(f"export x.onnx --to {form} -o {WEIGHTS} --force")
    cases.words("export m.tags.json --to graphml -o m.tags.json --force")
    for command in ("tag x.onnx", "strip x.onnx", "tap x.onnx --module **",
                    "extract x.onnx --module a"):
        for target in (WEIGHTS, "x.onnx"):
            cases.words(f"{command} -o {target} --force")
    cases.words("tag m.onnx --sidecar m.onnx --force")
    cases.words(f"tag x.onnx --sidecar {WEIGHTS} --force")
    cases.words("split x.onnx --at b --out-dir . --force")
    cases.words("extract x.onnx --module a -o out/a.onnx --data copy --force")


def reports(cases: Cases) -> None:
    cases.words("report m.onnx -o m.onnx --force")
    cases.words("report m.onnx other.onnx -o other.onnx --force")
    cases.words("report m.onnx --profile numbers.tsv -o numbers.tsv --force")
    cases.words(f"report x.onnx -o {WEIGHTS} --force")
    cases.words("report zoo --out-dir zoo --force")
    cases.case("report . --out-dir . --force, in the folder", lambda: subprocess.run(
        [cases.binary, "report", ".", "--out-dir", ".", "--force"], cwd="zoo", capture_output=True).returncode)
    cases.words("profile m.onnx numbers.tsv -o numbers.tsv")


def links(cases: Cases) -> None:
    for kind, make in (("soft", os.symlink), ("hard", os.link)):
        def link(name: str, to: str, make: Callable[[str, str], None] = make) -> Callable[[], None]:
            return lambda: make(os.path.abspath(to), name)
        for command, target in (("tag m.onnx", "m.onnx"), ("strip x.onnx", WEIGHTS), ("report m.onnx", "m.onnx"),
                                ("export x.onnx --to graphml", WEIGHTS), ("tap x.onnx --module **", WEIGHTS)):
            cases.words(f"{command} -o {kind}.link --force", setup=link(f"{kind}.link", target), may=())
        cases.words(f"extract x.onnx --module a -o out/{kind}.onnx --data copy --force",
                    setup=link(f"out/{kind}.onnx.data", WEIGHTS))
        for choice in ("copy", "link"):
            cases.words(f"tag x.onnx --out-dir out --data {choice} --force", setup=link(f"out/{WEIGHTS}", WEIGHTS))
    cases.words("tag m.link --in-place", setup=lambda: os.symlink("m.onnx", "m.link"))


def standard_output(cases: Cases) -> None:
    for mode in ("r+b", "ab"):
        for command, onto in (("show m.onnx --json", "m.onnx"), ("show x.onnx --json", WEIGHTS),
                              ("query m.onnx op=MatMul", "m.onnx"), ("export m.onnx --to graphml", "m.onnx"),
                              ("tag m.onnx -o -", "m.onnx"), ("strip m.tagged.onnx -o -", "m.tagged.onnx"),
                              ("weights x.onnx", WEIGHTS), ("profile m.onnx numbers.tsv", "numbers.tsv"),
                              ("diff m.onnx other.onnx", "other.onnx"), ("report m.onnx -o -", "m.onnx"),
                              ("strip m.onnx --private --check", "m.onnx"), ("filt m.onnx", "m.onnx"),
                              ("split m.onnx --parts 2 --dry-run", "m.onnx"),
                              ("check m.onnx --sidecar m.tags.json", "m.tags.json"),
                              ("tap x.onnx --module ** -o - --data keep", WEIGHTS)):
            cases.printed(command, onto, mode)


def companion(cases: Cases) -> None:
    function = "make.py:make"

    def write_function() -> None:
        pathlib.Path("make.py").write_text("def make():\n    import torch\n    return torch.nn.Linear(4, 4), "
                                           "(torch.ones(1, 4),)\n")
    for target in ("m.onnx", "other.onnx", "in.npz"):
        cases.companion(f"compare m.onnx other.onnx --inputs in.npz --tsv {target}")
        cases.companion(f"compare m.onnx other.onnx --inputs in.npz --tsv {target} --force")
    cases.companion(f"compare x.onnx m.onnx --inputs in.npz --tsv {WEIGHTS} --force")
    for target in ("make.py", "in.npz"):
        cases.companion(f"reference {function} --inputs in.npz -o {target} --force", setup=write_function)
    cases.companion(f"record {function} -o make.py --force", setup=write_function)
    cases.companion(f"record {function} --export x.onnx.data", setup=write_function)
    cases.companion(f"record {function} -o m.onnx", setup=write_function)


def main() -> int:
    cases = Cases(os.path.abspath(sys.argv[1]))
    parts: List[Callable[[Cases], None]] = [program, reports, links, standard_output, companion]
    for part in parts:
        part(cases)
    print(f"{cases.count - cases.lost} of {cases.count} cases: all inputs kept")
    return 1 if cases.lost else 0


if __name__ == "__main__":
    sys.exit(main())
