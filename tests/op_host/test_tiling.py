# SPDX-License-Identifier: Apache-2.0
"""Tiling and inference functions: what they make of a call is what the contract makes of it.

They are compiled against stand-ins for CANN's headers (``simulator/cann/host``); `sals check-cann`
compiles the same sources against the real ones. The expected tilings are those that the simulator's
kernels run with.
"""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sals import _sim

ROOT = Path(__file__).resolve().parents[2]
GE_TYPES = {"float32": 0, "float16": 1, "int8": 2, "int32": 3, "bfloat16": 27}
CUBE, VECTOR, LIBRARY_WORKSPACE = 20, 40, 16 * 1024 * 1024
CAPACITY = 256
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    target = tmp_path_factory.mktemp("tiling") / "libtiling.so"
    host = ROOT / "op_host"
    sources = [*host.glob("*/infer.cpp"), *host.glob("*/tiling.cpp")]
    sources += [host / f"common/{name}.cpp" for name in ("launch", "report", "tiling_call")]
    sources.append(ROOT / "tests/op_host/native/run_tiling.cpp")
    include = [f"-I{ROOT / folder}" for folder in ("include", "op_host", "simulator/cann/host")]
    flags = ["-std=c++17", "-O0", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["c++", *flags, *include, *map(str, sources), "-o", str(target)], check=True)
    calls = ctypes.CDLL(str(target))
    calls.call_new.restype = ctypes.c_void_p
    calls.call_output.restype = ctypes.c_int64
    return calls


class Call:
    """A call of an operator, as CANN would hand it to a tiling function."""

    def __init__(self, library: ctypes.CDLL, op: str, arrays: Arrays, options: dict[str, Any]) -> None:
        self.library = library
        self.handle = ctypes.c_void_p(library.call_new(f"sals::{op}".encode()))
        for name, array in arrays.items():
            sizes = (ctypes.c_int64 * array.ndim)(*array.shape)
            kind = ctypes.c_int32(GE_TYPES[array.dtype.name])
            library.call_tensor(self.handle, name.encode(), kind, sizes, ctypes.c_int64(array.ndim))
        schema = getattr(torch.ops.sals, op).default._schema
        for argument in schema.arguments:
            if str(argument.type) in ("int", "SymInt", "float", "bool", "str"):
                self.set(
                    argument.name, str(argument.type), options.get(argument.name, argument.default_value)
                )

    def set(self, name: str, kind: str, value: Any) -> None:
        if kind == "str":
            self.library.call_text(self.handle, name.encode(), value.encode())
        elif kind == "bool":
            self.library.call_bool(self.handle, name.encode(), ctypes.c_bool(value))
        elif kind == "float":
            self.library.call_float(self.handle, name.encode(), ctypes.c_float(value))
        else:
            self.library.call_int(self.handle, name.encode(), ctypes.c_int64(value))

    def tile(self, capacity: int = CAPACITY) -> tuple[int, dict[str, int], np.ndarray]:
        data = np.zeros(capacity, np.uint8)
        results = (ctypes.c_int64 * 5)()
        status = self.library.call_tiling(
            self.handle,
            *(ctypes.c_uint32(n) for n in (CUBE, VECTOR, LIBRARY_WORKSPACE)),
            ctypes.c_void_p(data.ctypes.data),
            ctypes.c_int64(capacity),
            results,
        )
        names = ("block_dim", "schedule_mode", "tiling_key", "workspace", "bytes")
        found = dict(zip(names, results, strict=True))
        return status, found, data[: found["bytes"]].view(np.int32)

    def output(self, index: int) -> tuple[list[int], int]:
        sizes, kind = (ctypes.c_int64 * 8)(), ctypes.c_int32()
        axes = self.library.call_output(self.handle, ctypes.c_int64(index), sizes, ctypes.byref(kind))
        assert axes >= 0
        return list(sizes[:axes]), kind.value


def zeros(*shape: int, dtype: str = "int32") -> np.ndarray:
    return np.zeros(shape, np.dtype(dtype))


QSI = {
    "query": zeros(3, 2, 4, 16),
    "query_scale": zeros(3, 2, 4, dtype="float32"),
    "key_cache": zeros(9, 4, 128, 16),
    "key_scale": zeros(9, 4, 128, dtype="float32"),
    "seq_lens": zeros(3),
    "block_table": zeros(3, 3),
}
QSI_OPTIONS = {"max_seq_len": 384, "block_size": 16, "keep_num": 1, "keep_den": 2, "tail_blocks": 3}
SFAA = {
    "query": zeros(3, 2, 8, 128, dtype="float16"),
    "key_cache": zeros(9, 4, 128, 128, dtype="int8"),
    "value_cache": zeros(9, 4, 128, 128, dtype="int8"),
    "key_scale": zeros(4, 128, dtype="float32"),
    "value_scale": zeros(4, 128, dtype="float32"),
    "block_ids": zeros(3, 2, 4, 12),
    "selected_lens": zeros(3, 2, 4),
    "seq_lens": zeros(3),
    "block_table": zeros(3, 3),
}
QUERY = {"query": zeros(3, 2, 8, 128, dtype="float16"), "projection": zeros(4, 128, 64, dtype="float32")}
CACHES = {
    "key": zeros(5, 4, 128, dtype="float32"),
    "value": zeros(5, 4, 128, dtype="float32"),
    "index_key": zeros(5, 4, 128, dtype="float32"),
    "projection": zeros(4, 128, 64, dtype="float32"),
    "slot_mapping": zeros(5),
    "key_cache": zeros(9, 4, 128, 128, dtype="int8"),
    "value_cache": zeros(9, 4, 128, 128, dtype="int8"),
    "index_cache": zeros(9, 4, 128, 8),
    "index_scale": zeros(9, 4, 128, dtype="float32"),
    "key_scale": zeros(9, 4, 128, dtype="float32"),
    "value_scale": zeros(9, 4, 128, dtype="float32"),
}


def all_tensors(op: str, arrays: Arrays) -> dict[str, np.ndarray | None]:
    arguments = getattr(torch.ops.sals, op).default._schema.arguments
    return {a.name: arrays.get(a.name) for a in arguments if "Tensor" in str(a.type)}


def with_defaults(op: str, options: dict[str, Any]) -> dict[str, Any]:
    arguments = getattr(torch.ops.sals, op).default._schema.arguments
    known = {a.name: a.default_value for a in arguments if str(a.type) in ("int", "float", "bool", "str")}
    return {**known, **options}


@pytest.mark.parametrize("changes", [{}, {"order": "score"}, {"coverage": 0.75, "sink_blocks": 0}])
def test_qsi(library: ctypes.CDLL, changes: dict[str, Any]) -> None:
    options = {**QSI_OPTIONS, **changes}
    call = Call(library, "qsi", QSI, options)
    expected = _sim.prepare_qsi(all_tensors("qsi", QSI), with_defaults("qsi", options), CUBE)
    status, found, tiling = call.tile()
    assert status == 0
    np.testing.assert_array_equal(tiling, expected["tiling"])
    assert found["block_dim"] == CUBE
    assert found["schedule_mode"] == 1  # the kernel synchronises all cores
    assert found["tiling_key"] == 0
    assert found["workspace"] == LIBRARY_WORKSPACE + expected["workspace_bytes"]
    assert call.output(0) == (list(expected["block_ids_shape"]), GE_TYPES["int32"])
    assert call.output(1) == (list(expected["selected_lens_shape"]), GE_TYPES["int32"])


@pytest.mark.parametrize("return_lse", [False, True])
def test_sfaa(library: ctypes.CDLL, return_lse: bool) -> None:
    options = {"scale": 0.125, "return_lse": return_lse}
    call = Call(library, "sfaa", SFAA, options)
    all_options = {**with_defaults("sfaa", options), "joins_runs": True, "joins_pairs": True}
    expected = _sim.prepare_sfaa(all_tensors("sfaa", SFAA), all_options, CUBE)
    status, found, tiling = call.tile()
    assert status == 0
    np.testing.assert_array_equal(tiling, expected["tiling"])
    assert (found["block_dim"], found["schedule_mode"]) == (CUBE, 1)
    assert found["workspace"] == LIBRARY_WORKSPACE + expected["workspace_bytes"]
    assert call.output(0) == ([3, 2, 8, 128], GE_TYPES["float16"])
    assert call.output(1) == ([3, 2, 8] if return_lse else [0], GE_TYPES["float32"])


def test_project_query(library: ctypes.CDLL) -> None:
    options = {"n_idx": 4, "scale": 0.25}
    call = Call(library, "project_query", QUERY, options)
    status, found, tiling = call.tile()
    assert status == 0
    np.testing.assert_array_equal(tiling, _sim.prepare_project_query(QUERY, options)["tiling"])
    assert (found["block_dim"], found["schedule_mode"]) == (VECTOR, 0)
    assert found["workspace"] == LIBRARY_WORKSPACE
    assert call.output(0) == ([3, 2, 4, 8], GE_TYPES["int32"])
    assert call.output(1) == ([3, 2, 4], GE_TYPES["float32"])


def test_write_cache(library: ctypes.CDLL) -> None:
    options = {"layout": "PA_BNSD", "static_scales": False}
    call = Call(library, "write_cache", CACHES, options)
    status, found, tiling = call.tile()
    assert status == 0
    np.testing.assert_array_equal(tiling, _sim.prepare_write_cache(CACHES, options)["tiling"])
    assert (found["block_dim"], found["schedule_mode"]) == (VECTOR, 0)
    names = ("key_cache", "index_cache", "index_scale", "key_scale", "value_scale")
    for i, name in enumerate(names):
        assert call.output(i) == (list(CACHES[name].shape), GE_TYPES[CACHES[name].dtype.name])


@pytest.mark.parametrize(
    ("op", "arrays", "options", "sentence"),
    [
        (
            "qsi",
            {**QSI, "key_scale": zeros(9, 4, 64, dtype="float32")},
            QSI_OPTIONS,
            "sals::qsi: key_scale must have shape [pages, heads, page_size] = [9, 4, 128], got [9, 4, 64]",
        ),
        (
            "qsi",
            {k: v for k, v in QSI.items() if k != "block_table"},
            QSI_OPTIONS,
            "sals::qsi: block_table must be given with layout PA_BNSD, got None",
        ),
        (
            "sfaa",
            {**SFAA, "query": zeros(3, 2, 8, 128, dtype="float32")},
            {"scale": 1.0},
            "sals::sfaa: query must have dtype float16 or bfloat16 on an NPU, got float32",
        ),
    ],
)
def test_a_refused_call_is_logged(
    library: ctypes.CDLL,
    capfd: pytest.CaptureFixture[str],
    op: str,
    arrays: Arrays,
    options: dict[str, Any],
    sentence: str,
) -> None:
    status, found, _ = Call(library, op, arrays, options).tile()
    assert status != 0
    assert capfd.readouterr().err == sentence + "\n"
    assert found["bytes"] == 0


def test_a_binary_for_another_tiling_is_refused(
    library: ctypes.CDLL, capfd: pytest.CaptureFixture[str]
) -> None:
    status, _, _ = Call(library, "qsi", QSI, QSI_OPTIONS).tile(capacity=16)
    assert status != 0
    assert "build the package again" in capfd.readouterr().err


def test_an_unknown_rank_stays_unknown(library: ctypes.CDLL) -> None:
    call = Call(library, "sfaa", SFAA, {"scale": 1.0, "return_lse": True})
    library.call_tensor(call.handle, b"query", 1, (ctypes.c_int64 * 1)(-2), ctypes.c_int64(1))
    assert call.output(0)[0] == [-2]
    assert call.output(1)[0] == [-2]
