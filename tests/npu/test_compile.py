# SPDX-License-Identifier: Apache-2.0
"""The operators on npu tensors under torch.compile and torch.library.opcheck."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import calls
import decode_step
import operators
from npu.npu_calls import on_npu

OPERATORS = ("qsi", "sfaa", "qsi_plan", "sfaa_plan", "project_query", "write_cache")
CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def call_of(op: str) -> calls.Call:
    return calls.project_query(rank=64) if op == "project_query" else calls.BUILDERS[op]()


@pytest.mark.parametrize("op", OPERATORS)
def test_opcheck(op: str) -> None:
    result = torch.library.opcheck(getattr(operators.ops, op).default, (), on_npu(call_of(op)))
    assert result == dict.fromkeys(CHECKS, "SUCCESS")


@pytest.mark.parametrize("planned", (False, True), ids=("no-plan", "planned"))
def test_compiled_decode_step(planned: bool) -> None:
    """Caches, projection, plans, indexer and attention in one graph, with the bits of the eager step."""
    step = decode_step.decode_step(planned, return_lse=True, num_cores=0)
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    args = decode_step.arguments(3, max_seq_len=200, seed=5)
    eager_args, compiled_args = decode_step.on_npu(args), decode_step.on_npu(args)
    expected, found = step(*eager_args), compiled(*compiled_args)
    for value, other in zip(found, expected, strict=True):
        assert value.device.type == "npu"
        assert torch.equal(value.cpu(), other.cpu())
    for value, other in zip(compiled_args[5], eager_args[5], strict=True):
        assert torch.equal(value.cpu(), other.cpu())
    on_cpu = decode_step.decode_step(planned, return_lse=True)(*decode_step.copied(args))
    assert torch.equal(found[2].cpu(), on_cpu[2])
    assert torch.equal(found[3].cpu(), on_cpu[3])
