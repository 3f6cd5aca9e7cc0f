# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

transformers = pytest.importorskip("transformers", reason="the extra `demo` installs transformers")

import torch  # noqa: E402

from integrations import tiny_llama  # noqa: E402
from sals.calibration import Calibration  # noqa: E402


@pytest.fixture(autouse=True)
def _no_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def model() -> transformers.LlamaForCausalLM:
    return tiny_llama.make_model()


@pytest.fixture(scope="module")
def calibration(model: transformers.LlamaForCausalLM) -> Calibration:
    return tiny_llama.make_calibration(model)
