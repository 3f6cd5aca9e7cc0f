# SPDX-License-Identifier: Apache-2.0
"""Every test that takes `backend` runs on the CPU, and on a CUDA device where there is one."""

from __future__ import annotations

import pytest

from gpu import backends


@pytest.fixture(
    params=[
        pytest.param(backends.ON_CPU, id="on-cpu"),
        pytest.param(backends.ON_CUDA, id="cuda", marks=pytest.mark.cuda),
    ]
)
def backend(request: pytest.FixtureRequest) -> backends.Backend:
    if request.param is backends.ON_CPU:
        backends.load_kernels_on_cpu()
    elif not backends.has_cuda():
        pytest.skip(backends.CUDA_MISSING)
    return request.param


@pytest.fixture
def device() -> backends.Backend:
    """Only a CUDA device."""
    if not backends.has_cuda():
        pytest.skip(backends.CUDA_MISSING)
    return backends.ON_CUDA
