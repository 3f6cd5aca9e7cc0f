# SPDX-License-Identifier: Apache-2.0
"""What the aclnn functions take is what the operators of torch take, in the same order."""

import re
import subprocess
from pathlib import Path

import pytest
import torch

import sals  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
OPERATORS = ("qsi", "sfaa", "qsi_plan", "sfaa_plan", "project_query", "write_cache")


@pytest.fixture(scope="module")
def signatures(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    program = tmp_path_factory.mktemp("signatures") / "print"
    source = ROOT / "tests/op_host/native/print_signatures.cpp"
    include = [f"-I{ROOT / folder}" for folder in ("include", "op_host")]
    subprocess.run(["c++", "-std=c++17", *include, str(source), "-o", str(program)], check=True)
    lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split() for line in lines]


def of(signatures: list[list[str]], op: str, what: str) -> list[list[str]]:
    return [line[2:] for line in signatures if line[:2] == [f"sals::{op}", what]]


def schema(op: str) -> torch.FunctionSchema:
    return getattr(torch.ops.sals, op).default._schema


def is_tensor(argument: torch.Argument) -> bool:
    return str(argument.type) in ("Tensor", "Optional[Tensor]")


@pytest.mark.parametrize("op", OPERATORS)
def test_inputs_are_the_tensors_of_the_schema(signatures, op):
    expected = [
        [a.name, "optional" if str(a.type).startswith("Optional") else "required"]
        for a in schema(op).arguments
        if is_tensor(a)
    ]
    assert of(signatures, op, "input") == expected


@pytest.mark.parametrize("op", OPERATORS)
def test_attributes_are_the_other_arguments_of_the_schema(signatures, op):
    def words(argument: torch.Argument) -> list[str]:
        kind = {"SymInt": "int"}.get(str(argument.type), str(argument.type))
        if not argument.has_default_value():
            return [argument.name, kind, "required"]
        default = argument.default_value
        return [argument.name, kind, default if isinstance(default, str) else f"{float(default):g}"]

    expected = [words(a) for a in schema(op).arguments if not is_tensor(a)]
    assert of(signatures, op, "attribute") == expected


@pytest.mark.parametrize("op", OPERATORS)
def test_outputs_are_what_the_schema_returns_or_writes(signatures, op):
    arguments = schema(op).arguments
    written = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    names = [name for name, _ in of(signatures, op, "output")]
    if op.endswith("_plan"):
        assert names == ["plan"]  # the schema's one result has no name
    else:
        written = [name for name in written if name != "value_cache"]  # an input only, see its signature
        assert names == (written or [r.name for r in schema(op).returns])


def camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


# CANN names the parameters of generated functions so; those of the plans are written by hand.
@pytest.mark.parametrize("op", ["qsi_plan", "sfaa_plan"])
def test_the_functions_of_the_plans_look_as_if_generated(signatures, op):
    header = (ROOT / f"op_host/{op}/aclnn_sals_{op}.h").read_text()
    parameters = re.search(r"GetWorkspaceSize\((.*?)\);", header, re.DOTALL)[1]
    found = [" ".join(parameter.split()) for parameter in parameters.split(",")]
    types = {"int": "int64_t ", "float": "double ", "bool": "bool ", "str": "char* "}
    expected = [
        f"const aclTensor* {camel_case(name)}{'Optional' if presence == 'optional' else ''}"
        for name, presence in of(signatures, op, "input")
    ]
    expected += [
        types[kind] + camel_case(name) + ("Optional" if kind == "str" else "")
        for name, kind, _ in of(signatures, op, "attribute")
    ]
    expected += ["const aclTensor* out", "uint64_t* workspaceSize", "aclOpExecutor** executor"]
    assert found == expected


@pytest.mark.parametrize("op", ["qsi_plan", "sfaa_plan"])
def test_the_ai_cpu_task_has_every_attribute(signatures, op):
    source = (ROOT / f"op_host/{op}/api.cpp").read_text()
    names = re.search(r"OP_ATTR_NAMES\(\{(.*?)\}\)", source, re.DOTALL)[1]
    assert re.findall(r'"(\w+)"', names) == [name for name, *_ in of(signatures, op, "attribute")]


KERNELS = {"qsi": "Qsi", "sfaa": "Sfaa", "project_query": "ProjectQuery", "write_cache": "WriteCache"}


# CANN passes addresses in this order, and a tensor that is input and output as both.
@pytest.mark.parametrize("op", KERNELS)
def test_a_kernel_takes_what_cann_passes_to_it(signatures, op):
    source = (ROOT / f"op_kernel/{op}/{op}.cpp").read_text()
    parameters = re.search(rf"void sals_{op}\((.*?)\)", source, re.DOTALL)[1]
    inputs = [name for name, _ in of(signatures, op, "input")]
    outputs = [f"{name}_ref" if name in inputs else name for name, _ in of(signatures, op, "output")]
    expected = [*inputs, *outputs, "workspace", "tiling"]
    assert [" ".join(p.split()) for p in parameters.split(",")] == [f"GM_ADDR {name}" for name in expected]


@pytest.mark.parametrize(("op", "name"), KERNELS.items())
def test_a_kernel_registers_the_tiling_that_the_host_writes(op, name):
    kernel = (ROOT / f"op_kernel/{op}/{op}.cpp").read_text()
    assert f"REGISTER_TILING_DEFAULT(sals::{name}Tiling);" in kernel
    host = (ROOT / f"op_host/{op}/tiling.cpp").read_text()
    assert f"make_{op}_tiling(" in host
    assert f"inline {name}Tiling make_{op}_tiling(" in (ROOT / f"include/sals/{op}_launch.h").read_text()
