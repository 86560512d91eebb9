"""Checks that commands answer alike from a model that is mapped, from the tagged model, and from the sidecar.

    python tools/checks/check_three_forms.py build/onnx-tag MODEL.onnx[+VERSION.onnx]... [--options "--hierarchy run.json"]

Each model is tagged once. Then every reading command runs on the three forms, and `tap`, `extract`, `split`, `weights` and
`explain` run on the model with `--sidecar` and on the tagged model. Exit codes and answers must be equal. Left out of the
comparison are the names of the files, their sizes, and the word for where the tags come from; and where one form is a sidecar,
what a sidecar does not hold: shapes and the sizes, FLOPs and memory that follow from them, weights by name, attributes, types,
constants, and why a node has its tag. `diff` and `transfer` have a second model: VERSION, or the next one in the list.
Prints a row for each model and command that differs, and the table of all.
"""
from __future__ import annotations

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

FORMS = ("model", "tagged", "sidecar")
QUERIES = ("type=attention", "layer=0", "layer>=1", "within=*Layer", "within=*Block*", "class=Linear", "class=Conv2d",
           "confidence<certain", "class_confidence>=high", "class_confidence<high", "type_confidence>=high",
           "type_confidence<medium", "tag=/**", "role=/Model/*/**", "origin=**", "attention=self", "untagged", "source=structure",
           "source=locality", "under=encoder", "component=query", "op=MatMul and not type=attention", "file=**", "line=1..99999")
# What follows from shapes, or is the size of the file itself.
SIZE_WORDS = re.compile(r"bytes|flops|dimensions|activation|shape|memory|peak|weights|sizes_for|claims|because")


class Answer(NamedTuple):
    exit_code: int
    out: Any


def without(value: Any, unwanted: Any) -> Any:
    """The value without the members whose key is unwanted, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, unwanted) for key, item in value.items() if not unwanted(key)}
    if isinstance(value, list):
        return [without(item, unwanted) for item in value]
    return value


class Model:
    """A model in its three forms, each alone in a folder, all with the same name."""

    def __init__(self, program: str, path: pathlib.Path, folder: pathlib.Path, options: List[str]) -> None:
        self.program = program
        self.options = options
        self.folder = folder
        self.answers: Dict[Tuple[str, ...], Answer] = {}
        for form in (*FORMS, "with_sidecar"):
            (folder / form).mkdir(parents=True)
        self.paths = {form: folder / form / ("m.tags.json" if form == "sidecar" else "m.onnx") for form in FORMS}
        shutil.copy(path, self.paths["model"])
        words = [program, "tag", str(self.paths["model"]), "-o", str(self.paths["tagged"]), "--sidecar",
                 str(self.paths["sidecar"]), "--force", *options]
        done = subprocess.run(words, capture_output=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{path}: {done.stderr.decode(errors='replace')}")
        self.paths["with_sidecar"] = self.paths["model"]
        self.nodes = json.loads(self.paths["sidecar"].read_bytes())["nodes"]

    def run(self, form: str, *words: str) -> Answer:
        """The command `words`, where FORM is the file and OUT a folder."""
        known = self.answers.get((form, *words))
        if known is not None:
            return known
        options = self.options if form == "model" else []
        if form == "with_sidecar":
            options = ["--sidecar", str(self.paths["sidecar"])]
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        command = [word.replace("FORM", str(self.paths[form])).replace("OUT", str(out)) for word in words]
        done = subprocess.run([self.program, *command, *options], capture_output=True)
        if done.returncode < 0 or done.returncode > 5:
            raise RuntimeError(f"{command}: exit code {done.returncode}")
        answer = Answer(done.returncode, self.plain(done.stdout.decode(errors="surrogateescape")))
        if not any("OUT" in word for word in words):
            self.answers[(form, *words)] = answer
        return answer

    def plain(self, text: str) -> str:
        text = re.sub(re.escape(str(self.folder)) + r"/\w+/", "", text)
        text = text.replace("m.tags.json", "m").replace("m.onnx", "m")
        text = re.sub(r'"tags_from":\s*"[^"]*"', '"tags_from": ""', text)
        return re.sub(r"\((tags in the file|sidecar|mapped)\)|, (tags in the file|sidecar|mapped)(?=: )", "(tags)", text)


def parsed(answer: Answer, sidecar: bool) -> Answer:
    """JSON without the words for where tags and files are from."""
    try:
        value = json.loads(answer.out)
    except ValueError:
        return answer
    value = without(value, lambda key: key in ("tags_from", "sidecar", "file", "fingerprint"))
    if sidecar:
        value = without(value, SIZE_WORDS.search)
    return Answer(answer.exit_code, value)


def without_sizes(answer: Answer) -> Answer:
    """The text of `show --measure nodes` or `diff` without what it says about sizes."""
    lines = [line for line in answer.out.split("\n") if not re.match(r"  (weights|FLOPs)  |              = ", line)]
    return Answer(answer.exit_code, [re.sub(r"( parameters?), .*; FLOPs .*", r"\1", line) for line in lines])


def report_data(model: Model, form: str, sidecar: bool) -> Answer:
    answer = model.run(form, "report", "FORM", "-o", "-", "--quiet")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', answer.out, re.S)
    if not found:
        return answer
    data = json.loads(found.group(1))
    for described in data["models"]:
        del described["bytes"]                              # of the file, which tags make larger
        if not sidecar:
            continue
        verdicts, nodes = described["verdicts"], described["nodes"]
        nodes["verdict"] = [[verdicts[part][i] for part in ("confidence", "source")] for i in nodes["verdict"]]
        for key in ("verdicts", "reasons", "types", "values", "strings", "sizes"):
            del described[key]
        for key in ("inputs", "outputs", "name"):           # numbers of values, which weights are among
            del nodes[key]
    return parsed(Answer(answer.exit_code, json.dumps(data)), sidecar)


def attachment(answer: Answer, sidecar: bool) -> Answer:
    """What Netron shows, of nodes alone where one form is a sidecar."""
    entries = json.loads(answer.out)["metadata"]
    return Answer(answer.exit_code, [entry for entry in entries if not sidecar or entry["kind"] == "node"])


def result_of(model: Model, form: str, *words: str) -> Answer:
    """What the command prints and the files that it writes, without tags."""
    answer = model.run(form, *words)
    out = model.folder / "out"
    written: Dict[str, bytes] = {}
    for path in sorted(out.rglob("*.onnx")):
        stripped = path.with_suffix(".plain")
        subprocess.run([model.program, "strip", str(path), "-o", str(stripped), "--quiet"], check=True, capture_output=True)
        written[path.name] = stripped.read_bytes()
    # Tags make files larger.
    text = re.sub(r"[\d.,]+ (bytes|[kMG]?B)\b", "SIZE", answer.out)
    return Answer(answer.exit_code, (text, written))


def reading(model: Model, other: Model, form: str, sidecar: bool) -> Iterator[Tuple[str, Answer]]:
    """All commands that read tags, with their answers."""
    text = model.run(form, "show", "FORM")
    if not sidecar:
        yield "show", text
        yield "show", model.run(form, "show", "FORM", "--nodes")
        yield "show", model.run(form, "show", "FORM", "--measure", "flops")
    yield "show", without_sizes(model.run(form, "show", "FORM", "--measure", "nodes"))
    yield "show", parsed(model.run(form, "show", "FORM", "--json"), sidecar)
    for query in QUERIES:
        yield "query", model.run(form, "query", "FORM", query)
        yield "query", model.run(form, "query", "FORM", query, "--json")
    for tool in ("names", "ort-quant", "olive", "polygraphy", "fp16", "nncf", "layer-ann"):
        for query in ("type=attention or type=convolution", "layer=0", "confidence<high", "tag=/*/*"):
            yield "select", model.run(form, "select", "FORM", query, "--for", tool, "--skip-unaddressable")
    for target in ("tsv", "graphml"):
        yield "export", model.run(form, "export", "FORM", "--to", target)
    yield "export", attachment(model.run(form, "export", "FORM", "--to", "netron"), sidecar)
    if not sidecar:  # `export --to sidecar` needs the model
        yield "export", parsed(model.run(form, "export", "FORM", "--to", "sidecar"), True)
    yield "diff", parsed(model.run(form, "diff", "FORM", str(other.paths["sidecar"]), "--json"), sidecar)
    yield "diff", parsed(model.run(form, "diff", str(other.paths["sidecar"]), "FORM", "--json"), sidecar)
    same = model.run(form, "diff", str(model.paths["model"]), "FORM")
    yield "diff", without_sizes(same) if sidecar else same
    if not sidecar:
        yield "diff", model.run(form, "diff", "FORM", str(other.paths["model"]))
    yield "report", report_data(model, form, sidecar)
    yield "check", parsed(model.run(form, "check", "FORM", "--json", "--min-coverage", "100", "--max-untagged", "0",
                                    "--require-module", "**.0.*"), sidecar)
    table = model.folder / "numbers.tsv"
    for by in ("module", "class", "layer", "role", "node", "op", "line"):
        yield "profile", model.run(form, "profile", "FORM", str(table), "--by", by, "--top", "0")
    answer = model.run(form, "transfer", "FORM", str(other.paths["model"]), "--sidecar-only", "--sidecar", "OUT/t.json", "--force")
    written = model.folder / "out/t.json"
    yield "transfer", Answer(answer.exit_code, (answer.out, written.read_bytes() if written.exists() else b""))
    answer = model.run(form, "transfer", "FORM", str(model.paths["model"]), "--sidecar-only", "--sidecar", "OUT/t.json", "--force")
    yield "transfer", Answer(answer.exit_code, (answer.out, written.read_bytes() if written.exists() else b""))


def acting(model: Model, form: str) -> Iterator[Tuple[str, Answer]]:
    """The commands that need the model itself."""
    modules = sorted({node["module"] for node in model.nodes if node["module"]}, key=lambda path: (path.count("."), path))
    chosen = modules[:: max(1, len(modules) // 3)][:3]
    for module in chosen:
        yield "tap", result_of(model, form, "tap", "FORM", "--module", module, "-o", "OUT/tapped.onnx")
        yield "extract", result_of(model, form, "extract", "FORM", "--module", module, "-o", "OUT/part.onnx")
        yield "split", result_of(model, form, "split", "FORM", "--at", module, "--out-dir", "OUT")
    yield "split", result_of(model, form, "split", "FORM", "--parts", "2", "--out-dir", "OUT")
    yield "weights", parsed(model.run(form, "weights", "FORM", "--json"), False)
    yield "weights", model.run(form, "weights", "FORM", "--tsv")
    for node in model.nodes[:: max(1, len(model.nodes) // 5)]:
        address = f"{node['graph']}#{node['index']}"
        yield "explain", model.run(form, "explain", "FORM", address)
        yield "explain", parsed(model.run(form, "explain", "FORM", address, "--json"), False)


def write_numbers(model: Model) -> None:
    rows = []
    for i, node in enumerate(model.nodes):
        outputs = [name for name in node["outputs"] if name and not re.search(r"[\t\r\n]", name)]
        if outputs and not node["graph"]:
            rows.append(f"{outputs[0]}\t{1 + i % 7}.5\n")
    (model.folder / "numbers.tsv").write_text("".join(rows), errors="surrogateescape")


def first_difference(a: Any, b: Any, place: str = "") -> str:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *b]:
            if a.get(key) != b.get(key):
                return first_difference(a.get(key), b.get(key), f"{place}.{key}")
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                return first_difference(x, y, f"{place}[{i}]")
        return f"{place}: {len(a)} and {len(b)} items"
    if isinstance(a, str) and isinstance(b, str) and "\n" in a + b:
        return first_difference(a.split("\n"), b.split("\n"), place)
    return f"{place}: {str(a)[:300]!r} and {str(b)[:300]!r}"


class Table:
    def __init__(self) -> None:
        self.runs: Dict[Tuple[str, str], int] = collections.Counter()
        self.equal: Dict[Tuple[str, str], int] = collections.Counter()
        self.models: Dict[Tuple[str, str], set[str]] = collections.defaultdict(set)

    def add(self, name: str, command: str, form: str, expected: Answer, answer: Answer, show: bool) -> None:
        self.runs[command, form] += 1
        if answer == expected:
            self.equal[command, form] += 1
            return
        if name not in self.models[command, form] or show:
            print(f"{name}: {command}, {form}: {first_difference(expected, answer)}", flush=True)
        self.models[command, form].add(name)

    def print(self, models: int) -> bool:
        print("| command | form | answers | equal | models that differ |\n|---|---|---:|---:|---:|")
        for command, form in self.runs:
            print(f"| {command} | {form} | {self.runs[command, form]} | {self.equal[command, form]} | "
                  f"{len(self.models[command, form])} of {models} |")
        return sum(self.runs.values()) == sum(self.equal.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--show", action="store_true", help="print each difference, not one for a model and command")
    parser.add_argument("--options", default="", help="for the tags, as one word: '--strategy htp --trace run.json'")
    parser.add_argument("--only", default="", help="commands, separated by commas")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    only: Optional[List[str]] = arguments.only.split(",") if arguments.only else None
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        for i, pair in enumerate(arguments.models):
            following = arguments.models[(i + 1) % len(arguments.models)]
            path, _, version = pair.partition("+")
            options = arguments.options.split()
            model = Model(program, pathlib.Path(path), pathlib.Path(folder) / f"{i}", options)
            other = Model(program, pathlib.Path(version or following.partition("+")[0]), pathlib.Path(folder) / f"{i}v", options)
            write_numbers(model)
            name = "/".join(pathlib.Path(path).parts[-2:])

            def compare(expected: Any, answers: Any, what: str) -> None:
                for (command, wanted), (_, given) in zip(expected, answers):
                    if only is None or command in only:
                        table.add(name, command, what, wanted, given, arguments.show)

            compare(reading(model, other, "model", False), reading(model, other, "tagged", False), "tagged")
            compare(reading(model, other, "model", True), reading(model, other, "sidecar", True), "sidecar")
            compare(acting(model, "with_sidecar"), acting(model, "tagged"), "--sidecar, tagged")
            shutil.rmtree(model.folder)
            shutil.rmtree(other.folder)
    return 0 if table.print(len(arguments.models)) else 1


if __name__ == "__main__":
    sys.exit(main())
