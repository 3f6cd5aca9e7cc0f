# SPDX-License-Identifier: Apache-2.0
"""torch.ops.sals.* on the NumPy inputs of `builders`, with NumPy results.

Results of float dtype come back as float32 arrays; arguments by name may be replaced by keyword.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

import sals  # noqa: F401 - registers torch.ops.sals
from builders import Inputs

ops = torch.ops.sals
FLOATS = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}

QSI_TENSORS = ("query", "query_scale", "key_cache", "key_scale", "seq_lens")
SFAA_TENSORS = (
    "query", "key_cache", "value_cache", "key_scale", "value_scale", "block_ids", "selected_lens", "seq_lens"
)  # fmt: skip


def to_torch(value: Any) -> Any:
    """Copy an array to a tensor; leave anything else alone."""
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor's values, floats as float32."""
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def _named(names: tuple[str, ...], call: tuple[tuple, dict]) -> dict[str, Any]:
    tensors, keywords = call
    return {
        name: to_torch(value)
        for name, value in {**dict(zip(names, tensors, strict=True)), **keywords}.items()
    }


def qsi_call(inputs: Inputs) -> dict[str, Any]:
    """All arguments of `sals::qsi` by name."""
    return _named(QSI_TENSORS, inputs.qsi_args())


def scores_call(inputs: Inputs) -> dict[str, Any]:
    """All arguments of `sals::block_scores` by name."""
    return _named(QSI_TENSORS, inputs.scores_args())


def sfaa_call(inputs: Inputs, block_ids: np.ndarray, dtype: str | None = None) -> dict[str, Any]:
    """All arguments of `sals::sfaa` by name; selected_lens, which results do not depend on, is zero."""
    lens = np.zeros(block_ids.shape[:-1], np.int32)
    call = _named(SFAA_TENSORS, inputs.sfaa_args(block_ids.astype(np.int32), lens))
    call["query"] = call["query"].to(FLOATS[dtype or inputs.case.dtype])
    return call


def block_scores(inputs: Inputs, **changes: Any) -> np.ndarray:
    return to_numpy(ops.block_scores(**{**scores_call(inputs), **changes}))


def qsi(inputs: Inputs, **changes: Any) -> tuple[np.ndarray, np.ndarray]:
    block_ids, selected_lens = ops.qsi(**{**qsi_call(inputs), **changes})
    return to_numpy(block_ids), to_numpy(selected_lens)


def sfaa(
    inputs: Inputs, block_ids: np.ndarray, dtype: str | None = None, **changes: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Output and LSE; `dtype` is that of query and output, by default the case's."""
    out, lse = ops.sfaa(**{**sfaa_call(inputs, block_ids, dtype), "return_lse": True, **changes})
    return to_numpy(out), to_numpy(lse)


def plan_args(inputs: Inputs, **changes: Any) -> dict[str, Any]:
    """Arguments that both plan operators take."""
    case = inputs.case
    selection = {name: value for name, value in case.selection_args().items() if name != "order"}
    call = {**inputs.batch_args(), **selection, "seq_lens": inputs.seq_lens, "max_seq_len": case.limit}
    return {**{name: to_torch(value) for name, value in call.items()}, **changes}


def qsi_plan(inputs: Inputs, **changes: Any) -> torch.Tensor:
    case = inputs.case
    s_q = 1 if case.shared_list else case.s_q
    return ops.qsi_plan(**plan_args(inputs, n_idx=case.index_heads, s_q=s_q, **changes))


def sfaa_plan(inputs: Inputs, **changes: Any) -> torch.Tensor:
    case = inputs.case
    shape = {"n_kv": case.n_kv, "group": case.group, "s_q": case.s_q, "shared_list": case.shared_list}
    return ops.sfaa_plan(**plan_args(inputs, **{**shape, **changes}))


def permute_pages(inputs: Inputs, seed: int) -> Inputs:
    """Move every page of a paged case to another place."""
    pages = len(inputs.key_cache)
    place = np.random.default_rng(seed).permutation(pages)
    source = np.argsort(place)
    moved = {
        name: getattr(inputs, name)[source]
        for name in ("index_cache", "index_scale", "key_cache", "value_cache", "key_scale", "value_scale")
        if getattr(inputs, name) is not None and len(getattr(inputs, name)) == pages
        and not (name in ("key_scale", "value_scale") and inputs.case.static_scales)
    }  # fmt: skip
    return dataclasses.replace(inputs, **moved, block_table=place[inputs.block_table].astype(np.int32))


def request_slice(inputs: Inputs, request: int) -> Inputs:
    """One request of a BSND batch as a batch of its own."""
    one = slice(request, request + 1)
    case = inputs.case.but(
        seq_lens=inputs.case.seq_lens[one],
        query_lens=None if inputs.case.query_lens is None else inputs.case.query_lens[one],
        max_seq_len=inputs.case.limit,
    )
    names = ["index_query", "query_scale", "query", "seq_lens"]
    names += [name for name in ("query_lens", "block_table") if getattr(inputs, name) is not None]
    if inputs.case.layout == "BSND":
        names += ["index_cache", "index_scale", "key_cache", "value_cache"]
        names += [] if inputs.case.static_scales else ["key_scale", "value_scale"]
    return dataclasses.replace(inputs, case=case, **{name: getattr(inputs, name)[one] for name in names})


def largest_value(inputs: Inputs) -> float:
    """Largest |value| that attention of this case can average."""
    scale = inputs.value_scale
    return 128.0 * float(np.nanmax(np.abs(scale)))


def random_lists(
    inputs: Inputs, rng: np.random.Generator, width: int, heads: int | None = None
) -> np.ndarray:
    """Lists with holes, repeats and partial blocks in any place, in the query's own token layout."""
    case = inputs.case
    leading = inputs.query.shape[:-2]
    if case.query_layout == "TND":
        requests = np.repeat(np.arange(case.batch), np.diff(inputs.query_start_loc))
        requests = np.pad(requests, (0, leading[0] - len(requests)))
    else:
        requests = np.repeat(np.arange(case.batch)[:, None], leading[1], axis=1)
    blocks = np.array([-(-max(length, 0) // case.block_size) for length in case.seq_lens])[requests]
    shape = (*leading, heads or case.n_kv, width)
    ids = np.floor(rng.random(shape) * blocks[..., None, None]).astype(np.int32)
    holes = (rng.random(shape) < 0.3) | (blocks[..., None, None] == 0)
    return np.where(holes, np.int32(-1), ids)
