# SPDX-License-Identifier: Apache-2.0
"""Random NumPy inputs for a Case. Everything follows from the case and the seed, which is printed.

Cache places that no token owns hold extreme codes and NaN scales, so that reading one shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cases import Case
from sals.reference import layouts
from sals.reference.int4 import pack_int4

UNUSED_INT8 = -128
UNUSED_INT4_WORD = 0x77777777


@dataclass
class Inputs:
    """Arguments of qsi and sfaa for one case; fp16 and bf16 values as float32."""

    case: Case
    index_query: np.ndarray
    query_scale: np.ndarray
    index_cache: np.ndarray
    index_scale: np.ndarray
    query: np.ndarray
    key_cache: np.ndarray
    value_cache: np.ndarray | None
    key_scale: np.ndarray
    value_scale: np.ndarray
    seq_lens: np.ndarray
    query_lens: np.ndarray | None
    query_start_loc: np.ndarray | None
    block_table: np.ndarray | None
    scale: float

    def batch_args(self) -> dict:
        """Keyword arguments that all operators share."""
        return {
            "query_lens": self.query_lens,
            "query_start_loc": self.query_start_loc,
            "query_layout": self.case.query_layout,
        }

    def qsi_args(self) -> tuple[tuple, dict]:
        """Positional and keyword arguments of `sals::qsi`, plan apart."""
        tensors = (self.index_query, self.query_scale, self.index_cache, self.index_scale, self.seq_lens)
        return tensors, {
            **self.batch_args(),
            **self.case.selection_args(),
            "block_table": self.block_table,
            "max_seq_len": self.case.limit,
            "layout": self.case.index_layout,
        }

    def scores_args(self) -> tuple[tuple, dict]:
        """Positional and keyword arguments of `sals::block_scores`."""
        tensors, keywords = self.qsi_args()
        kept = (*self.batch_args(), "block_table", "max_seq_len", "layout", "block_size")
        return tensors, {name: keywords[name] for name in kept}

    def sfaa_args(self, block_ids: np.ndarray, selected_lens: np.ndarray | None) -> tuple[tuple, dict]:
        """Positional and keyword arguments of `sals::sfaa` for a list, plan and return_lse apart."""
        caches = (self.key_cache, self.value_cache, self.key_scale, self.value_scale)
        return (self.query, *caches, block_ids, selected_lens, self.seq_lens), {
            **self.batch_args(),
            "block_table": self.block_table,
            "scale": self.scale,
            "block_size": self.case.block_size,
            "layout": self.case.layout,
            "causal": self.case.causal,
        }


def round_to(x: np.ndarray, dtype: str) -> np.ndarray:
    """Round float values to a dtype by name, half to even, and return them as float32."""
    x = np.asarray(x, dtype=np.float32)
    if dtype == "float16":
        return x.astype(np.float16).astype(np.float32)
    if dtype == "bfloat16":
        bits = x.view(np.uint32)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return rounded.astype(np.uint32).view(np.float32)
    return x


def build_block_table(case: Case, rng: np.random.Generator) -> tuple[np.ndarray | None, int]:
    """Shuffled page table and number of pages; padded requests and unused entries name page 0."""
    if case.layout == "BSND":
        return None, case.batch
    pages_of = [-(-max(length, 0) // case.page_size) for length in case.seq_lens]
    num_pages = sum(pages_of) + 2
    free = iter(rng.permutation(np.arange(1, num_pages)))
    table = np.zeros((case.batch, max(1, -(-case.limit // case.page_size))), np.int32)
    for request, count in enumerate(pages_of):
        table[request, :count] = [next(free) for _ in range(count)]
    return table, num_pages


def _int8_cache(case: Case, rng, table, num_pages, page_size, cache=None, component=layouts.KEY):
    """One random int8 cache with its scales; `cache` is the joint one when K and V share it."""
    longest = max(1, *case.seq_lens)
    dense = rng.integers(-127, 128, (case.batch, longest, case.n_kv, case.head_dim), dtype=np.int8)
    if cache is None:
        shape = layouts.cache_shape(
            case.layout, num_pages, page_size, case.n_kv, cache_columns(case), np.int8
        )
        cache = np.full(shape, UNUSED_INT8, np.int8)
    padding = cache_columns(case) - case.head_dim
    dense = np.pad(dense, ((0, 0), (0, 0), (0, 0), (0, padding)))
    layouts.fill_cache(cache, case.layout, table, dense, case.seq_lens, component)
    if case.static_scales:
        scale = rng.uniform(0.5, 1.5, (case.n_kv, case.head_dim)).astype(np.float32) / 64
        return cache, scale
    scale = np.full(layouts.scale_shape(case.layout, num_pages, page_size, case.n_kv), np.nan, np.float32)
    dense_scale = rng.uniform(0.2, 2.0, (case.batch, longest, case.n_kv)).astype(np.float32) / 64
    layouts.fill_scales(scale, case.layout, table, dense_scale, case.seq_lens)
    return cache, scale


def cache_columns(case: Case) -> int:
    """Channels of a KV row: whole planes need head_dim 80 padded to 128; other rows are as long as it."""
    planes = case.layout in ("PA_NZ", "PA_KV")
    return 128 if planes and case.head_dim == 80 else case.head_dim


def _index(case: Case, rng, table, num_pages, page_size, token_shape):
    """Random int4 index query and cache with scales; with ties, few distinct keys and one scale."""
    heads, longest = case.index_heads, max(1, *case.seq_lens)
    query = rng.integers(-7, 8, (*token_shape, heads, case.rank))
    query_scale = rng.uniform(0.02, 0.08, (*token_shape, heads)).astype(np.float32)
    dense = rng.integers(-7, 8, (case.batch, longest, heads, case.rank))
    dense_scale = rng.uniform(0.05, 0.3, (case.batch, longest, heads)).astype(np.float32)
    if case.ties:
        blocks = -(-longest // case.block_size)
        chosen = np.repeat(rng.integers(0, 3, blocks), case.block_size)[:longest]
        dense = dense[:, chosen]
        dense_scale[:] = np.float32(0.1)
    words = case.rank // 8
    shape = layouts.cache_shape(case.index_layout, num_pages, page_size, heads, words, np.int32)
    cache = np.full(shape, UNUSED_INT4_WORD, np.int32)
    layouts.fill_cache(cache, case.index_layout, table, pack_int4(dense), case.seq_lens)
    scale = np.full(layouts.scale_shape(case.index_layout, num_pages, page_size, heads), np.nan, np.float32)
    layouts.fill_scales(scale, case.index_layout, table, dense_scale, case.seq_lens)
    return pack_int4(query), query_scale, cache, scale


def build(case: Case, seed: int = 0, logit_bound: float | None = None) -> Inputs:
    """Random inputs of a case; the query is scaled so that no |logit| exceeds `logit_bound` if given."""
    print(f"{case!r} seed={seed}")
    rng = np.random.default_rng([seed, *case.name.encode()])
    tnd = case.query_layout == "TND"
    start_loc = np.concatenate([[0], np.cumsum(case.spans)]).astype(np.int32) if tnd else None
    tokens = (sum(case.spans),) if tnd else (case.batch, case.s_q)
    index_tokens = (case.batch, 1) if case.shared_list else tokens
    table, num_pages = build_block_table(case, rng)
    page_size = max(1, *case.seq_lens) if case.layout == "BSND" else case.page_size
    pages = (table, num_pages, page_size)
    index = _index(case, rng, *pages, index_tokens)
    key_cache, key_scale = _int8_cache(case, rng, *pages)
    joint = key_cache if case.layout == "PA_KV" else None
    value_cache, value_scale = _int8_cache(case, rng, *pages, joint, layouts.VALUE)
    query = rng.standard_normal((*tokens, case.n_q, case.head_dim))
    scale = 1 / np.sqrt(case.head_dim)
    inputs = Inputs(
        case, *index, round_to(query, case.dtype), key_cache, None if joint is not None else value_cache,
        key_scale, value_scale, np.array(case.seq_lens, np.int32),
        None if tnd or case.query_lens is None else np.array(case.query_lens, np.int32),
        start_loc, table, float(scale),
    )  # fmt: skip
    if logit_bound is not None:
        inputs.query = round_to(query * (logit_bound / largest_logit(inputs)), case.dtype)
    return inputs


def largest_logit(inputs: Inputs) -> float:
    """Largest |logit| of a case over all tokens of the caches."""
    case, largest = inputs.case, 0.0
    queries = inputs.query.reshape(-1, case.n_kv, case.group, case.head_dim).astype(np.float64)
    for request, length in enumerate(case.seq_lens):
        positions = np.arange(max(length, 0))
        for head in range(case.n_kv):
            place = (case.layout, inputs.block_table, request, head, positions)
            keys = layouts.gather_tokens(inputs.key_cache, *place)[:, : case.head_dim].astype(np.float64)
            if case.static_scales:
                keys = keys * inputs.key_scale[head]
            else:
                keys = keys * layouts.gather_scales(inputs.key_scale, *place)[:, None]
            largest = max(largest, np.abs(queries[:, head] @ keys.T).max(initial=0))
    return largest * inputs.scale


def all_blocks(inputs: Inputs) -> np.ndarray:
    """Lists of every block of every request, one per request (BSND only): attention becomes dense."""
    case = inputs.case
    columns = max(1, -(-case.limit // case.block_size))
    ids = np.full((case.batch, 1, 1, columns), -1, np.int32)
    for request, length in enumerate(case.seq_lens):
        count = -(-max(length, 0) // case.block_size)
        ids[request, 0, 0, :count] = np.arange(count)
    return ids
