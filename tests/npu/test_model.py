# SPDX-License-Identifier: Apache-2.0
"""A whole model on npu tensors: prefill and sparse decode steps, with the CPU's predictions."""

from __future__ import annotations

import pytest

pytest.importorskip("transformers", reason="the extra `demo` installs transformers")

import torch

from integrations import tiny_llama
from sals.demo import on_npu
from sals.demo.run import options_for

CONTEXT, STEPS = 100, 3


@pytest.mark.parametrize("dense_layers", ((), (0,)), ids=("sparse", "first-layer-dense"))
def test_decode_steps(dense_layers: tuple[int, ...]) -> None:
    """A prefill runs ATen's kernels on both sides, so its bits are the same; steps run ours.

    Attention on a device and on the CPU may differ by one rounding of its float16 results, 2^-11 of a value,
    in each of the two layers; the rest is what such a difference may move: int8 codes of the next layer's
    keys by one step, for which `tiny_llama.OTHER_SHAPES` allows.
    """
    model = tiny_llama.make_model().half()
    calibration = tiny_llama.make_calibration(model, dense_layers=dense_layers)
    context = tiny_llama.random_ids(1, CONTEXT)[0]
    expected = on_npu.decode_steps(model, calibration, "1/4", context, None, STEPS, lambda: None)
    model.to("npu")
    found = on_npu.decode_steps(model, calibration, "1/4", context, expected.tokens, STEPS, lambda: None)
    assert torch.equal(found.logits[0], expected.logits[0])
    for logits, golden in zip(found.logits[1:], expected.logits[1:], strict=True):
        assert tiny_llama.relative_error(logits, golden) <= tiny_llama.OTHER_SHAPES + 2 * 2**-11


@pytest.mark.demo
def test_demo() -> None:
    """`sals demo --device npu --quick`: SmolLM2 chooses the same tokens."""
    from pathlib import Path

    options = options_for(None, None, None, False, "float16", Path("unused.png"))
    assert on_npu.run_on_npu(on_npu.npu_options(options, quick=True))
