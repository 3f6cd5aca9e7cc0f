# SPDX-License-Identifier: Apache-2.0
"""A dry run of the operator package's build: what it asks of CANN, told by a stand-in for CANN's CMake."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = {
    "SalsQsi": "qsi",
    "SalsSfaa": "sfaa",
    "SalsProjectQuery": "project_query",
    "SalsWriteCache": "write_cache",
}
AICPU_FILES = (
    "toolkit/toolchain/hcc/bin/aarch64-target-linux-gnu-g++",
    "lib64/libaicpu_context.a",
    "lib64/libbase_ascend_protobuf.a",
)


def cmake() -> str:
    beside_python = Path(sys.executable).with_name("cmake")
    found = str(beside_python) if beside_python.exists() else shutil.which("cmake")
    assert found, "the tests need cmake, as the build does"
    return found


def make_cann(root: Path, files: tuple[str, ...] = AICPU_FILES) -> Path:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


def configure(build: Path, cann: Path, generator: str = "Unix Makefiles") -> subprocess.CompletedProcess[str]:
    command = [cmake(), "-S", str(ROOT / "op_host"), "-B", str(build), "-G", generator]
    command += [f"-DASC_DIR={ROOT / 'tests/op_host/asc'}", f"-DCMAKE_INSTALL_PREFIX={build / 'install'}"]
    environment = {**os.environ, "ASCEND_HOME_PATH": str(cann)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    folder = tmp_path_factory.mktemp("package")
    run = configure(folder / "build", make_cann(folder / "cann"))
    assert run.returncode == 0, run.stderr
    lines = (folder / "build/asc-calls.txt").read_text().splitlines()
    return [line.replace(";", " ").split() for line in lines]


def of(calls: list[list[str]], name: str) -> list[list[str]]:
    return [call[1:] for call in calls if call[0] == name]


def value_after(call: list[str], keyword: str) -> str:
    return call[call.index(keyword) + 1]


def test_both_chip_families_are_built_for(calls):
    assert of(calls, "units") == [["ascend910b", "ascend910_93"]]


def test_every_kernel_is_compiled_from_its_own_folder(calls):
    (library,) = of(calls, "npu_op_kernel_library")
    base = Path(value_after(library, "SRC_BASE"))
    found = {}
    for call in of(calls, "npu_op_kernel_sources"):
        folder, file = value_after(call, "KERNEL_DIR"), value_after(call, "KERNEL_FILE")
        entry = "sals_" + folder  # CANN calls the entry by the operator's type in snake case
        assert f"void {entry}(" in (base / folder / file).read_text()
        found[value_after(call, "OP_TYPE")] = folder
    assert found == KERNELS
    assert value_after(library, "TILING_LIBRARY") == "cust_optiling"


def test_kernels_find_the_contract_and_what_they_share(calls):
    (options,) = of(calls, "npu_op_kernel_options")
    assert options == ["ascendc_kernels", "ALL", "OPTIONS", f"-I{ROOT}/include", f"-I{ROOT}/op_kernel"]


def test_every_host_source_is_in_the_library_it_belongs_to(calls):
    libraries = {call[0]: set(call[2:]) for call in of(calls, "npu_op_library")}
    assert set(libraries) == {"cust_optiling", "cust_op_proto", "cust_opapi"}
    sources = {str(path) for path in (ROOT / "op_host").rglob("*.cpp")}
    plan_api = {path for path in sources if path.endswith(("/api.cpp", "/plan_api.cpp"))}
    assert libraries["cust_optiling"] == sources - plan_api
    assert libraries["cust_op_proto"] > sources - plan_api  # and CANN's generated prototypes
    assert plan_api < libraries["cust_opapi"]
    assert not libraries["cust_opapi"] & (sources - plan_api)
    (generated,) = of(calls, "npu_op_code_gen")
    assert sources - plan_api < set(generated)


def test_the_package_carries_libraries_kernels_tasks_and_headers(calls):
    added = of(calls, "npu_op_package_add")
    libraries = {name for call in added if "LIBRARY" in call for name in call[call.index("LIBRARY") + 1 :]}
    assert libraries == {"cust_optiling", "cust_opapi", "cust_op_proto", "ascendc_kernels"}
    places = {}
    for call in added:
        if "PACKAGE_PATH" in call:
            places[Path(value_after(call, "FILES")).name] = value_after(call, "PACKAGE_PATH")
    assert places == {
        "libsals_aicpu_kernels.so": "op_impl/cpu/aicpu_kernel/impl",
        "cust_aicpu_kernel.json": "op_impl/cpu/config",
    }
    headers = [call for call in added if "TYPE" in call]
    assert [value_after(call, "TYPE") for call in headers] == ["ACLNN"]
    assert {Path(name).name for name in headers[0] if name.endswith(".h")} == {
        "aclnn_sals_qsi_plan.h",
        "aclnn_sals_sfaa_plan.h",
    }


def test_the_build_goes_where_it_is_told(calls):
    (package,) = of(calls, "npu_op_package")
    assert value_after(package, "TYPE") == "RUN"
    assert value_after(package, "ENABLE_BINARY_PACKAGE") == "True"
    assert value_after(package, "INSTALL_PATH").endswith("/build/install")


def test_a_missing_compiler_for_the_ai_cpus_is_named(tmp_path):
    run = configure(tmp_path / "build", make_cann(tmp_path / "cann", AICPU_FILES[1:]))
    assert run.returncode != 0
    assert "aarch64-target-linux-gnu-g++, which this CANN does not have" in " ".join(run.stderr.split())


def test_other_generators_are_refused(tmp_path):
    run = configure(tmp_path / "build", make_cann(tmp_path / "cann"), generator="Ninja")
    assert run.returncode != 0
    assert "must be built with the generator Unix Makefiles" in " ".join(run.stderr.split())
