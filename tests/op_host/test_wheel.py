# SPDX-License-Identifier: Apache-2.0
"""A dry run of SALS_BACKEND=npu: what goes into the wheel, with stand-ins for CANN and torch_npu.

The root project is configured, and the operator package within it as the build would do it; nothing is
compiled. `make test-npu` compiles the binding itself, against the real torch_npu.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from op_host.test_package import cmake, make_cann

ROOT = Path(__file__).resolve().parents[2]
CANN_LIBRARY = "lib64/libascendcl.so"


def make_torch_npu(site: Path) -> None:
    """An installed distribution, as far as a build asks."""
    information = site / "torch_npu-2.13.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.13.0\n")
    library = site / "torch_npu/lib/libtorch_npu.so"
    library.parent.mkdir(parents=True)
    # A real library: CMake names one without a soname in another way to the linker.
    command = ["c++", "-shared", "-xc++", "/dev/null", "-Wl,-soname,libtorch_npu.so", "-o", str(library)]
    subprocess.run(command, check=True)


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def configure(build: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    backend = ["-DSALS_BACKEND=npu", f"-DPython_EXECUTABLE={sys.executable}"]
    return run(cmake(), "-S", str(ROOT), "-B", str(build), *backend, **environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds `build`, configured, and the stand-ins `cann` and `site`."""
    folder = tmp_path_factory.mktemp("wheel")
    cann = make_cann(folder / "cann")
    (cann / CANN_LIBRARY).write_text("")
    make_torch_npu(folder / "site")
    environment = {
        "ASCEND_HOME_PATH": str(cann),
        "ASC_DIR": str(ROOT / "tests/op_host/asc"),
        "PYTHONPATH": str(folder / "site"),
        "CMAKE_GENERATOR": "Unix Makefiles",
    }
    configured = configure(folder / "build", **environment)
    assert configured.returncode == 0, configured.stderr
    step = "CMakeFiles/sals_opp.dir/build.make", "sals_opp-prefix/src/sals_opp-stamp/sals_opp-configure"
    made = run("make", "-C", str(folder / "build"), "-f", *step, **environment)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


def installed(folder: Path, source_name: str) -> list[str]:
    """Where the build installs a file or folder of this name."""
    scripts = [path.read_text() for path in (folder / "build").rglob("cmake_install.cmake")]
    pattern = re.compile(r'DESTINATION "\$\{CMAKE_INSTALL_PREFIX\}/([^"]*)"[^)]*?FILES "([^"]*)"')
    return [where for script in scripts for where, what in pattern.findall(script) if source_name in what]


def test_the_binding_is_compiled_for_torch_npu(folder: Path) -> None:
    commands = json.loads((folder / "build/compile_commands.json").read_text())
    binding = [entry["command"] for entry in commands if "/csrc/npu/" in entry["file"]]
    assert len(binding) == len(list((ROOT / "python/csrc/npu").glob("*.cpp")))
    torch_npu = folder / "site/torch_npu"
    for command in binding:
        for include in ("include", "include/third_party/acl/inc", "include/third_party/op-plugin"):
            assert f"-isystem {torch_npu / include} " in command
        assert "-DCURRENT_VERSION=V2R13 " in command


def test_the_binding_is_linked_to_cann_and_torch_npu(folder: Path) -> None:
    target = folder / "build/python/csrc/npu"
    words = (target / "CMakeFiles/_npu.dir/link.txt").read_text().split()
    libraries = {os.path.normpath(target / word) for word in words if word.endswith(".so")}
    assert str(folder / "cann" / CANN_LIBRARY) in libraries
    assert str(folder / "site/torch_npu/lib/libtorch_npu.so") in libraries


def test_the_wheel_carries_the_binding_and_the_operator_package(folder: Path) -> None:
    assert installed(folder, "/_npu.so") == ["sals"]
    assert installed(folder, "/opp/packages/vendors/sals/") == ["sals/opp"]
    assert installed(folder, "/_ops.so") == ["sals"]


def test_nothing_of_the_simulated_runtime_is_built(folder: Path) -> None:
    assert "simulator/runtime" not in (folder / "build/compile_commands.json").read_text()


def test_the_operator_package_is_configured_within_the_build(folder: Path) -> None:
    """Its kernels, host libraries and tasks: `test_package.py` looks at what it asks of CANN."""
    calls = (folder / "build/opp-build/asc-calls.txt").read_text().splitlines()
    names = {line.split(";")[0] for line in calls}
    assert {"npu_op_package", "npu_op_kernel_library", "npu_op_package_add"} <= names
    cache = (folder / "build/opp-build/CMakeCache.txt").read_text()
    assert f"CMAKE_INSTALL_PREFIX:PATH={folder}/build/opp\n" in cache


def test_a_build_without_torch_npu_is_refused(tmp_path: Path) -> None:
    cann = make_cann(tmp_path / "cann")
    refused = configure(tmp_path / "build", ASCEND_HOME_PATH=str(cann), PYTHONNOUSERSITE="1")
    if "torch_npu" in refused.stdout:
        pytest.skip("torch_npu is installed here")
    assert refused.returncode != 0
    assert "torch_npu must be installed" in " ".join(refused.stderr.split())
