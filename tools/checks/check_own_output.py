#!/usr/bin/env python3
"""Whether `check` accepts what the other commands write, with options by chance.

    python3 tools/checks/check_own_output.py build/onnx-tag FOLDER... [--models 200] [--seed 1]

Each model of the folders is tagged with random options; then one more command reads the result and writes a model. Every
output must pass `check`, and `strip` must restore the bytes of the model.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

KEYS = ("tags", "namespace", "layer_ann", "class_hierarchy", "source_line")
STRATEGIES = ("", "", "", "usage_based", "universal", "enhanced_semantic")


def tag_options(chance: random.Random) -> list:
    words = []
    if chance.random() < 0.6:
        words += ["--keys", ",".join(chance.sample(KEYS, chance.randint(1, 4)))]
    if strategy := chance.choice(STRATEGIES):
        words += ["-s", strategy]
    for option, share in (("--no-sidecar", 0.2), ("--frames", 0.2), ("--no-catalogue", 0.2), ("--fsync", 0.1),
                          ("--rename-nodes", 0.3), ("--no-recipes", 0.1), ("--no-structure", 0.1), ("--placement", 0.1),
                          ("--granularity=torch_nn", 0.3), ("--min-confidence=high", 0.1)):
        words += [option] if chance.random() < share else []
    return words


def followers(tagged: str, source: str, module: str, out: str, chance: random.Random) -> list:
    return chance.choice([
        ["transfer", tagged, source, "-o", out], ["transfer", source, tagged, "-o", out], ["strip", tagged, "--private", "-o", out],
        ["strip", tagged, "-o", out],
        ["tap", tagged, "--module", "**", "-o", out], ["extract", tagged, "--module", module, "-o", out],
        ["tag", tagged, "-o", out, *tag_options(chance)]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    models = sorted(str(file) for folder in options.folders for file in pathlib.Path(folder).rglob("*.onnx"))
    chance.shuffle(models)
    counts = collections.Counter()

    def run(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([options.program, *words], capture_output=True, text=True, errors="replace", check=False)

    def judge(file: str, made_by: list) -> None:
        checked = run("check", file, "--json")
        counts[f"check exit {checked.returncode}"] += 1
        if checked.returncode != 0:
            rules = collections.Counter(row["rule"] for row in json.loads(checked.stdout or "{}").get("findings", []))
            print(f"{model}: {' '.join(made_by)}\n  {dict(rules) or checked.stderr}")

    for model in models[:options.models]:
        with tempfile.TemporaryDirectory() as folder:
            tagged, out = folder + "/t.onnx", folder + "/o.onnx"
            words = ["tag", model, "-o", tagged, *tag_options(chance)]
            made = run(*words)
            counts[f"tag exit {made.returncode}"] += 1
            if made.returncode > 1:
                print(" ".join(words), made.stderr)
                continue
            judge(tagged, words)
            run("strip", tagged, "-o", folder + "/s.onnx")
            run("strip", model, "-o", folder + "/p.onnx")
            same = pathlib.Path(folder, "s.onnx").read_bytes() == pathlib.Path(folder, "p.onnx").read_bytes()
            counts["strip restores" if same else "STRIP DIFFERS"] += 1
            rows = json.loads(run("query", tagged, "layer>=0", "--json").stdout or "{}").get("nodes", [])
            module = chance.choice(rows)["module"] if rows else ""
            words = followers(tagged, model, module, out, chance)
            if run(*words).returncode <= 1 and pathlib.Path(out).exists():
                counts[words[0]] += 1
                judge(out, words)
    print(dict(counts))
    return 0 if set(counts) & {"check exit 1", "check exit 3", "STRIP DIFFERS"} == set() else 1


if __name__ == "__main__":
    sys.exit(main())
