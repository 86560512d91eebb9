"""Files that somebody made up: recordings, references, arrays and values of engines with any JSON or any bytes in them
are read, or refused with one kind of error."""
import copy
import json
import zipfile
from pathlib import Path
from typing import Any, Callable, List, Tuple

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")
hypothesis = pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as arrays  # noqa: E402
from test_damaged_files import polygraphy, read_reference, recording, reference  # noqa: E402

from onnx_tag import document  # noqa: E402
from onnx_tag.arrays import read_npz  # noqa: E402
from onnx_tag.engine_values import read_polygraphy  # noqa: E402
from onnx_tag.errors import InputError  # noqa: E402

REFUSALS = (InputError, document.RecordingError)
LONG = settings(max_examples=200, deadline=None, database=None, derandomize=True,
                suppress_health_check=list(HealthCheck))
TEXT = st.text(max_size=20)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6)
NUMBERS = arrays.arrays(st.sampled_from(["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?"]),
                        arrays.array_shapes(min_dims=0, max_side=4))


def places(value: Any, path: Tuple[Any, ...] = ()) -> List[Tuple[Any, ...]]:
    """The paths to everything inside a JSON value."""
    listed = enumerate(value) if isinstance(value, list) else ()
    inner = list(value.items() if isinstance(value, dict) else listed)
    return [path, *(place for key, child in inner for place in places(child, (*path, key)))]


def changed(whole: Any, path: Tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    whole = copy.deepcopy(whole)
    at = whole
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return whole


def is_read_or_refused(read: Callable[[str], Any], path: Path) -> None:
    try:
        read(str(path))
    except REFUSALS as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("make, read", [(recording, document.load), (polygraphy, read_polygraphy)])
def test_any_json_at_any_place(tmp_path: Path, make: Callable[[Path], Path], read: Callable[[str], Any]) -> None:
    path = tmp_path / "x.json"
    whole = json.loads(make(path).read_text())
    every = places(whole)

    @LONG
    @given(st.sampled_from(every), JSON)
    def check(place: Tuple[Any, ...], new: Any) -> None:
        path.write_text(json.dumps(changed(whole, place, new)))
        is_read_or_refused(read, path)
    check()


def test_any_json_and_any_array_in_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "x.reference"
    with zipfile.ZipFile(reference(path)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = next(name for name in members if name.endswith(".json"))
    whole = json.loads(members[head])
    others = [name for name in members if name != head]

    def write(**new: Any) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                if name in new.get("without", ()):
                    continue
                archive.writestr(name, new.get("data", {}).get(name, data))

    @LONG
    @given(st.sampled_from(places(whole)), JSON)
    def json_changes(place: Tuple[Any, ...], new: Any) -> None:
        write(data={head: json.dumps(changed(whole, place, new)).encode()})
        is_read_or_refused(read_reference, path)

    @LONG
    @given(st.sampled_from(others), NUMBERS | st.binary(max_size=200))
    def array_changes(name: str, new: Any) -> None:
        if not isinstance(new, bytes):
            where = tmp_path / "x.npy"
            np.save(where, new)
            new = where.read_bytes()
        write(data={name: new})
        is_read_or_refused(read_reference, path)
        write(without=[name])
        is_read_or_refused(read_reference, path)
    json_changes()
    array_changes()


@LONG
@given(given_arrays=st.dictionaries(st.text("abcxyz.:", min_size=1, max_size=8), NUMBERS, max_size=3))
def test_arrays_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, given_arrays: Any) -> None:
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    np.savez(path, **{name: array for name, array in given_arrays.items() if name != "file"})
    for name, array in read_npz(str(path)).items():
        assert array.dtype == given_arrays[name].dtype
        assert np.array_equal(array, given_arrays[name], equal_nan=array.dtype.kind == "f")


@LONG
@given(data=st.binary(max_size=400))
def test_any_bytes_are_no_arrays(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    path.write_bytes(data)
    is_read_or_refused(read_npz, path)
