"""Compares src/data/operators.txt with all operators that the installed onnx package defines, and their shapes with its examples.

    python tools/checks/check_operators.py build/shapes [--verbose]

Every operator of the newest opset must have a row with a rule for shapes, or be named in EXCEPT with a reason. Then the examples
of the package's own tests, one or more for each operator, with their true results: the shape of each output must be the inferred
one, with the inputs' dimensions as numbers, and again with a name for each size. What the examples record of outputs is removed
first. Settings that are inputs, such as the shape of a Reshape, become constants.
"""
from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Dict, List, Set, Tuple

import numpy as np
import onnx
from onnx import numpy_helper

TABLE = pathlib.Path(__file__).resolve().parents[2] / "src" / "data" / "operators.txt"
EXCEPT = {
    **{f"ai.onnx.preview.training.{name}": "trains: no model that is run has it"
       for name in ("Adagrad", "Adam", "Gradient", "Momentum")},
    **{f"ai.onnx.ml.{name}": "no export of a PyTorch model has it"
       for name in ("ArrayFeatureExtractor", "Binarizer", "CastMap", "CategoryMapper", "DictVectorizer", "FeatureVectorizer",
                    "Imputer", "LabelEncoder", "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder", "Scaler",
                    "SVMClassifier", "SVMRegressor", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "ZipMap")},
    **{name: "its body says" for name in ("If", "Loop", "Scan", "SequenceMap")},
    **{name: "works on text or encoded images"
       for name in ("CenterCropPad", "ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit",
                    "TfIdfVectorizer")},
}


def rows() -> Dict[str, Dict[str, str]]:
    found = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if words and not line.startswith("#"):
            found[words[0]] = dict(word.split("=", 1) for word in words[2:])
    return found


def schemas() -> List[onnx.defs.OpSchema]:
    newest: Dict[Tuple[str, str], onnx.defs.OpSchema] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        key = (schema.domain, schema.name)
        if key not in newest or schema.since_version > newest[key].since_version:
            newest[key] = schema
    return [schema for schema in newest.values() if not schema.deprecated]


def is_setting(array: np.ndarray, place: int) -> bool:
    return place > 0 and array.size <= 8 and array.ndim <= 2 and (
        array.dtype.kind in "iub" or (array.dtype == np.float32 and array.ndim <= 1 and array.size <= 4))


def prepared(case: object, named: bool) -> Tuple[onnx.ModelProto, Dict[str, int]]:
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, _ = case.data_sets[0]
    sizes: Dict[str, int] = {}
    kept = []
    for place, (value, data) in enumerate(zip(list(model.graph.input), inputs)):
        if isinstance(data, np.ndarray) and is_setting(data, place) and value.type.HasField("tensor_type"):
            model.graph.initializer.append(numpy_helper.from_array(data, value.name))
            continue
        kept.append(value)
        if not named or not value.type.HasField("tensor_type"):
            continue
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value > 1:
                sizes[f"d{dim.dim_value}"] = dim.dim_value
                dim.dim_param = f"d{dim.dim_value}"
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model, sizes


def inferred(program: str, model: onnx.ModelProto, sizes: Dict[str, int]) -> Dict[str, Tuple[str, str]]:
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString())
        file.flush()
        text = subprocess.run([program, file.name, *(f"{name}={size}" for name, size in sizes.items())], check=True,
                              capture_output=True, text=True).stdout
    return {row[0]: (row[2], row[3]) for row in (line.split("\t") for line in text.splitlines())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    table = rows()
    missing, no_rule = [], []
    known: Set[str] = set()
    domains: Counter = Counter()
    for schema in schemas():
        row = table.get(f"{schema.name}@{schema.domain}", table.get(schema.name))
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        domains[schema.domain or "ai.onnx"] += 1
        known.add(schema.name)
        if row is None:
            missing.append(name)
        elif "shape" not in row and "like" not in row:
            no_rule.append(name)
    print(f"onnx {onnx.__version__}, opset {onnx.defs.onnx_opset_version()}: {dict(domains)}")
    bad = [name for name in missing + no_rule if name not in EXCEPT]
    for name in missing + no_rule:
        print(f"  {name}: no {'row' if name in missing else 'rule for shapes'}: {EXCEPT.get(name, 'MISSING')}")

    from onnx.backend.test.case.node import collect_testcases
    from onnx.backend.test.case.utils import import_recursive
    import onnx.backend.test.case.node as cases
    import_recursive(cases)
    totals = {False: Counter(), True: Counter()}
    tried: Set[str] = set()
    unknown: Counter = Counter()
    for case in collect_testcases(None):
        operators = {node.op_type for node in case.model.graph.node}
        for named in (False, True):
            counts = totals[named]
            try:
                model, sizes = prepared(case, named)
                said = inferred(options.program, model, sizes)
                results = case.data_sets[0][1]
            except Exception as error:
                counts["failed"] += 1
                if options.verbose:
                    print(f"  {case.name}: {error}")
                continue
            tried |= operators
            for value, result in zip(model.graph.output, results):
                if isinstance(result, onnx.TensorProto):
                    true = str(list(result.dims))
                elif isinstance(result, (np.ndarray, np.generic)):
                    true = str(list(result.shape))
                else:
                    counts["no tensors"] += 1
                    continue
                shape, formula = said.get(value.name, ("?", "?"))
                if shape == true:
                    counts["equal"] += 1
                elif "?" in shape:
                    kind = "unknown" if "?" in formula else "by data"
                    counts[kind] += 1
                    if kind == "unknown" and not named:
                        unknown.update(operators)
                    if options.verbose:
                        print(f"  {case.name}{' named' if named else ''}: {formula}, {true}")
                else:
                    counts["different"] += 1
                    print(f"  {case.name}{' named' if named else ''}: {formula} = {shape}, but {true}")
    print(f"examples with numbers: {dict(totals[False])}\nexamples with names: {dict(totals[True])}")
    print(f"{len(tried & known)} of {len(known)} operators have examples; unknown: {dict(unknown.most_common(30))}")
    sys.exit(1 if bad or totals[False]["different"] or totals[True]["different"] else 0)


if __name__ == "__main__":
    main()
