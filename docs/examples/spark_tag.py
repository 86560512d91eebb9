#!/usr/bin/env python3
"""Tags a zoo of ONNX models with Spark and keeps every node as a row of a table.

    spark-submit docs/examples/spark_tag.py --models LIST|FOLDER --out TABLES [--onnx-tag PROGRAM] [--partitions N]

LIST has a path per line; a folder is searched for *.onnx. Each partition starts the program once and hands it all
paths. Written as Parquet: TABLES/nodes (a row per node, as in the sidecar, with the model's `path`), TABLES/files
(a row per model, failed ones with their error). The models must be reachable from the workers under the same paths.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import Iterable, Iterator, List, Tuple

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import DataFrame, SparkSession

NODE = ("path string, graph string, index bigint, name string, op string, domain string, inputs array<string>, "
        "outputs array<string>, module string, class string, hierarchy_tag string, "
        "semantic struct<type: string, component: string, attention_kind: string, layer: bigint>, "
        "confidence string, source string, origins array<string>")
FILE = ("path string, status string, nodes bigint, tagged bigint, untagged bigint, coverage double, "
        "by_confidence map<string, bigint>, dialect string, root_class string, error string, exit_code int, "
        "seconds double")
# The program's answer when it did its work: done, with findings, some files failed.
DONE = (0, 1, 5)


def tag_partition(program: str, paths: Iterable[str]) -> Iterator[str]:
    """One process for all models of a partition; its lines are the partition's rows."""
    listed = list(paths)
    if not listed:
        return
    with tempfile.NamedTemporaryFile("w", suffix=".paths", encoding="utf-8", errors="surrogateescape") as files:
        files.write("".join(path + "\0" for path in listed))
        files.flush()
        # -j 1: Spark runs as many of these as it has cores. --dry-run: the rows are all that is wanted.
        command = [program, "tag", "--files-from", files.name, "--json", "--json-nodes", "--dry-run", "-j", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              encoding="utf-8", errors="backslashreplace") as process:
            assert process.stdout is not None and process.stderr is not None
            yield from (line for line in process.stdout if '"record": "summary"' not in line[:30])
            complaints = process.stderr.read()
            if process.wait() not in DONE:
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {complaints[-2000:]}")


def tag_models(spark: SparkSession, program: str, paths: List[str], partitions: int) -> Tuple[DataFrame, DataFrame]:
    """(nodes, files)"""
    lines = spark.sparkContext.parallelize(paths, partitions).mapPartitions(
        lambda part: tag_partition(program, part)).cache()
    nodes = lines.filter(lambda line: line.startswith('{"record": "node"'))
    files = lines.filter(lambda line: line.startswith('{"record": "file"'))
    return spark.read.schema(NODE).json(nodes), spark.read.schema(FILE).json(files)


def model_paths(models: str) -> List[str]:
    if os.path.isdir(models):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(models) for name in names
                      if name.endswith(".onnx") and not name.endswith(".tagged.onnx"))
    with open(models, encoding="utf-8", errors="surrogateescape") as lines:
        return [line.rstrip("\n") for line in lines if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--onnx-tag", default="onnx-tag", metavar="PROGRAM")
    parser.add_argument("--partitions", type=int, help="default: one for every 100 models, at least one a core")
    args = parser.parse_args()
    paths = model_paths(args.models)
    if not paths:
        parser.error(f"{args.models}: no models")
    spark = SparkSession.builder.appName("onnx-tag").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    partitions = args.partitions or max(spark.sparkContext.defaultParallelism, len(paths) // 100)
    nodes, files = tag_models(spark, args.onnx_tag, paths, partitions)
    nodes.write.mode("overwrite").parquet(os.path.join(args.out, "nodes"))
    files.write.mode("overwrite").parquet(os.path.join(args.out, "files"))
    counts = spark.read.parquet(os.path.join(args.out, "files")).groupBy("status").count().orderBy("status").collect()
    print(", ".join(f"{row['count']} {row['status']}" for row in counts))
    spark.stop()


if __name__ == "__main__":
    main()
