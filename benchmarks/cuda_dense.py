# SPDX-License-Identifier: Apache-2.0
"""Dense bf16 decode attention in PyTorch's backends; caches are [batch, n_kv, tokens, head_dim]."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks import cuda_timing, dense_forms

BACKENDS = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "FlashAttention": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
FORMS = {"grouped": dense_forms.grouped_sdpa, "enable_gqa": dense_forms.gqa_sdpa}
FLASH = "FlashAttention"
NEAR = 1.5  # forms slower than this many times the fastest are timed only once
TOLERANCE = 2e-2  # relative L2 of a bf16 result

Inputs = tuple[Tensor, Tensor, Tensor]


def attend(form: Callable[..., Tensor], backend: SDPBackend, inputs: Inputs) -> Tensor:
    with sdpa_kernel(backend):
        return form(*inputs)


def is_right(out: Tensor, inputs: Inputs) -> bool:
    """The first request against float32."""
    golden = dense_forms.grouped_matmul(*(each[:1].float() for each in inputs))
    return float((out[:1].float() - golden).norm() / golden.norm()) < TOLERANCE


def times(batch: int, tokens: int, n_q: int, n_kv: int, head_dim: int) -> dict[str, float]:
    """Microseconds of every form that runs; a form that PyTorch refuses or that is wrong is left out."""
    shape = (batch, n_kv, tokens, head_dim)
    count = cuda_timing.input_sets(4 * batch * n_kv * tokens * head_dim)
    sets = [
        (
            torch.randn(batch, n_q, 1, head_dim, device="cuda", dtype=torch.bfloat16),
            torch.randn(shape, device="cuda", dtype=torch.bfloat16),
            torch.randn(shape, device="cuda", dtype=torch.bfloat16),
        )
        for _ in range(count)
    ]
    runs = {}
    for name, backend in BACKENDS.items():
        for form_name, form in FORMS.items():
            if n_q == n_kv and form_name == "enable_gqa":
                continue
            try:
                if not is_right(attend(form, backend, sets[0]), sets[0]):
                    print(f"    dense {name}, {form_name}: wrong result")
                    continue
            except RuntimeError as error:
                print(f"    dense {name}, {form_name}: {str(error).splitlines()[0][:90]}")
                continue
            runs[f"{name}, {form_name}"] = [
                lambda form=form, backend=backend, inputs=inputs: attend(form, backend, inputs)
                for inputs in sets
            ]
    found = {name: cuda_timing.microseconds(calls, seconds=0.02) for name, calls in runs.items()}
    fastest = min(found.values())
    for name, calls in runs.items():
        if found[name] <= NEAR * fastest or name.startswith(FLASH):
            found[name] = cuda_timing.microseconds(calls)
    return found
