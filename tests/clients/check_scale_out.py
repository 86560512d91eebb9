#!/usr/bin/env python3
"""Runs every command and query of docs/guide/scale-out.md on the models of this checkout and compares their answers.

    python check_scale_out.py BINARY WORK_DIR

xargs, GNU parallel, Spark and DuckDB must all count the same attention MatMuls in the same layers of the same models
as a loop over the program's own lines does, and one broken model must cost nothing but its own row.
"""
from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Counter, Dict, Iterable, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
Counts = Dict[Tuple[str, int], int]
MODELS = ("tests/truth/bert", "tests/truth/gpt2", "tests/truth/t5", "tests/truth/vit", "tests/truth/nn_control_flow",
          "tests/truth/resnet", "tests/models/bert_tiny")


def blocks(page: str, language: str) -> List[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def make_zoo(folder: pathlib.Path) -> int:
    """Copies of models that are checked in, and one that is none."""
    for source in MODELS:
        for model in sorted((ROOT / source).glob("*.onnx")):
            target = folder / pathlib.Path(source).name / model.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(model, target)
    (folder / "broken.onnx").write_bytes(b"\x08\x07\x3a\xff\xff")
    return len(list(folder.rglob("*.onnx")))


def model_name(path: str) -> str:
    """The same for zoo/bert/ts.onnx, file:///…/sidecars/bert/ts.tags.json and what else there is."""
    parts = re.sub(r"(\.tags\.json|\.onnx)$", "", path).split("/")
    return "/".join(parts[-2:])


def counted(rows: Iterable[Tuple[str, int, int]]) -> Counts:
    return {(model_name(path), layer): number for path, layer, number in rows}


def by_hand(lines: Iterable[str]) -> Counts:
    found: Counter[Tuple[str, int]] = collections.Counter()
    for line in lines:
        node = json.loads(line)
        role = node["semantic"]
        if node["op"] == "MatMul" and role and role["type"] == "attention" and role["layer"] is not None:
            found[model_name(node["path"]), role["layer"]] += 1
    return dict(found)


class Checks:
    def __init__(self) -> None:
        self.failed = 0

    def same(self, what: str, got: object, wanted: object) -> None:
        ok = got == wanted
        self.failed += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {what}", flush=True)
        if not ok:
            print(f"     got    {str(got)[:500]}\n     wanted {str(wanted)[:500]}", flush=True)


def run_shell(page: str, folder: pathlib.Path, env: Dict[str, str]) -> None:
    for script in blocks(page, "sh"):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit(f"check_scale_out.py: exit {done.returncode} from:\n{script}\n{done.stdout[-3000:]}")


def check_duckdb(page: str, folder: pathlib.Path, wanted: Counts, checks: Checks) -> None:
    import duckdb
    os.chdir(folder)
    for query in blocks(page, "sql"):
        engine, _, what = query.split("\n")[0].strip("- ").partition(": ")
        if engine == "duckdb":
            checks.same(f"DuckDB over {what}", counted(duckdb.sql(query).fetchall()), wanted)


def check_spark(page: str, folder: pathlib.Path, wanted: Counts, all_nodes: int, checks: Checks) -> None:
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(
        "spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    files = spark.read.parquet(str(folder / "tables/files"))
    failed = files.where("status = 'failed'").collect()
    checks.same("Spark job: only the broken model failed, with a reason",
                [(model_name(r.path), bool(r.error), r.exit_code) for r in failed], [("zoo/broken", True, 3)])
    nodes = spark.read.parquet(str(folder / "tables/nodes"))
    checks.same("Spark job: every node is a row", nodes.count(), all_nodes)
    checks.same("Spark job: file rows add up to the node rows",
                files.selectExpr("sum(nodes)").collect()[0][0], all_nodes)
    nodes.createOrReplaceTempView("nodes")
    for query in blocks(page, "sql"):
        if query.startswith("-- spark:"):
            checks.same("Spark SQL over the table", counted(tuple(r) for r in spark.sql(query).collect()), wanted)
    space = {"spark": spark, "sc": spark.sparkContext,
             "paths": sorted(str(p) for p in (folder / "zoo").rglob("*.onnx"))}
    piped, sidecars = blocks(page, "python")
    exec(piped, space)
    checks.same("Spark pipe: every node is a row", space["nodes"].count(), all_nodes)
    exec(sidecars, space)
    checks.same("Spark SQL over sidecars", counted(tuple(r) for r in space["matmuls"].collect()), wanted)
    spark.stop()


def main() -> None:
    binary, work = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve() / "scale-out"
    shutil.rmtree(work, ignore_errors=True)
    (work / "bin").mkdir(parents=True)
    (work / "bin/onnx-tag").symlink_to(binary)
    (work / "docs").symlink_to(ROOT / "docs")
    models = make_zoo(work / "zoo")
    os.environ["PATH"] = f"{work / 'bin'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    page = (ROOT / "docs/guide/scale-out.md").read_text(encoding="utf-8")

    done = subprocess.run([str(binary), "tag", "--recursive", "zoo", "--json-nodes", "--dry-run", "--quiet"], cwd=work,
                          capture_output=True, text=True)
    checks = Checks()
    checks.same("a batch with one broken model ends with 5", done.returncode, 5)
    lines = done.stdout.splitlines()
    wanted = by_hand(lines)
    print(f"{models} models, {len(lines)} nodes, {sum(wanted.values())} attention MatMuls in {len(wanted)} layers")
    if len(wanted) < 20:
        sys.exit("check_scale_out.py: too few layers to compare anything")

    run_shell(page, work, dict(os.environ))
    xargs = [line for file in (work / "by-xargs").iterdir() for line in file.read_text().splitlines()]
    checks.same("xargs: the same lines", sorted(xargs), sorted(lines))
    checks.same("GNU parallel: the same lines", sorted((work / "by-parallel.ndjson").read_text().splitlines()),
                sorted(lines))
    check_duckdb(page, work, wanted, checks)
    check_spark(page, work, wanted, len(lines), checks)
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
