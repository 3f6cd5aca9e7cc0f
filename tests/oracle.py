# SPDX-License-Identifier: Apache-2.0
"""Which calls of the operators are valid, written down a second time and independently, in Python.

`verdict` sorts a call into those that PyTorch's schema refuses (SCHEMA), those that break a rule of the
operators (RULE), and valid ones (VALID).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from operators import ops
from sals._contract import QSI_TILE_TOKENS, SFAA_TILE_TOKENS

SCHEMA, RULE, VALID = "schema", "rule", "valid"
Call = dict[str, Any]
INT64 = range(-(2**63), 2**63)
MAX_SEQ_LEN = 2**24
MAX_LIST_ROWS = 2**22
MAX_QUERY_ROWS = 2**16
HEAD_DIMS = (64, 80, 96, 128, 192, 256)
QUERY_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


class Broken(Exception):
    """A rule is broken; the argument that breaks it."""


def need(condition: bool, name: str) -> None:
    if not condition:
        raise Broken(name)


def fits_schema(op: str, call: Call) -> bool:
    """Whether every value has the type that the operator's schema declares."""
    kinds = {"Tensor": torch.Tensor, "int": int, "SymInt": int, "float": (int, float)}
    kinds |= {"str": str, "bool": bool}
    for argument in getattr(ops, op).default._schema.arguments:
        if argument.name not in call:
            continue
        value, text = call[argument.name], str(argument.type)
        if value is None:
            if not text.startswith("Optional") and text != "Tensor":
                return False
            continue  # None for a required tensor passes the schema and is for the operator to refuse
        kind = kinds[text.removeprefix("Optional[").removesuffix("]")]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            return False
        if kind is int and value not in INT64:
            return False
    return True


def tensor(call: Call, name: str, dtypes, ndim: int, contiguous: bool = False) -> torch.Tensor:
    value = call[name]
    need(isinstance(value, torch.Tensor) and value.device.type == "cpu", name)
    need(value.dtype in (dtypes if isinstance(dtypes, tuple) else (dtypes,)), name)
    need(value.dim() == ndim, name)
    need(not contiguous or value.is_contiguous(), name)
    return value


def optional(call: Call, name: str, ndim: int, given: bool | None = None) -> np.ndarray | None:
    """Values of an optional int32 tensor; `given` says whether it must be, None that it may be."""
    value = call.get(name)
    need(given is None or given == (value is not None), name)
    return None if value is None else tensor(call, name, torch.int32, ndim).numpy()


def selection(call: Call) -> None:
    need(0 <= call["max_seq_len"] <= MAX_SEQ_LEN, "max_seq_len")
    need(call["block_size"] in (8, 16, 32, 64, 128), "block_size")
    if "keep_num" not in call:
        return
    need(0 <= call["keep_num"] <= call["keep_den"] and 1 <= call["keep_den"] <= 2**20, "keep_num")
    need(0 <= call["min_blocks"] <= call["max_blocks"] <= 8192, "max_blocks")
    need(0 <= call["sink_blocks"] <= MAX_SEQ_LEN and 1 <= call["tail_blocks"] <= MAX_SEQ_LEN, "tail_blocks")
    need(math.isfinite(call["coverage"]) and call["coverage"] >= 0, "coverage")
    need(call.get("order", "index") in ("index", "score"), "order")


def lengths(call: Call, s_q: int, tokens: int, limit: int, newest: bool) -> np.ndarray:
    """Check the lengths; return the real query tokens of each request.

    `newest`: one query token per request stands for its newest one, so it may say that there were more.
    """
    tnd = call["query_layout"] == "TND"
    need(call["query_layout"] in ("BSND", "TND"), "query_layout")
    seq_lens = tensor(call, "seq_lens", torch.int32, 1).numpy()
    start = optional(call, "query_start_loc", 1, given=tnd)
    query_lens = optional(call, "query_lens", 1, given=False if tnd else None)
    need(bool((seq_lens <= limit).all()), "seq_lens")
    if start is not None:
        need(len(start) == len(seq_lens) + 1, "query_start_loc")
        need(start[0] == 0 and bool((np.diff(start.astype(np.int64)) >= 0).all()), "query_start_loc")
        need(start[-1] <= tokens, "query_start_loc")
        return np.diff(start)
    if query_lens is None:
        return np.full(len(seq_lens), s_q)
    need(len(query_lens) == len(seq_lens), "query_lens")
    most = 2**31 if newest and s_q == 1 else s_q
    need(bool(((query_lens >= 0) & (query_lens <= most)).all()), "query_lens")
    return np.minimum(query_lens, s_q)


def pages(call: Call, num_pages: int, page_size: int, batch: int) -> int:
    """Check the block table against lengths; return the tokens that a request can have."""
    paged = call["layout"] != "BSND"
    table = optional(call, "block_table", 2, given=paged)
    if table is None:
        need(num_pages == batch, "key_cache")
        return page_size
    need(len(table) == batch, "block_table")
    need(page_size > 0 and page_size % call["block_size"] == 0, "key_cache")
    capacity = table.shape[1] * page_size
    for request, length in enumerate(call["seq_lens"].tolist()):
        used = table[request, : -(-max(length, 0) // page_size)]
        need(length <= capacity and bool(((used >= 0) & (used < num_pages)).all()), "block_table")
    return capacity


def plan(call: Call, op: int, tile: int, live: int, rows: int) -> None:
    if call.get("plan") is None:
        return
    words = tensor(call, "plan", torch.int32, 1).numpy().tolist()
    need(len(words) == 512 and words[:3] == [0x534C5350, 1, op] and words[5] == tile, "plan")
    cores = words[3]
    need(1 <= cores <= 64 and live <= words[4] <= rows, "plan")
    boundaries = list(zip(words[16 : 17 + cores], words[81 : 82 + cores], strict=True))
    need(boundaries[0] == (0, 0) and boundaries[-1] == (words[4], 0), "plan")
    need(boundaries == sorted(boundaries) and min(tile for _, tile in boundaries) >= 0, "plan")


def axes(layout: str, shape: tuple[int, ...], is_index: bool) -> tuple[int, int, int, int]:
    """Pages, heads, page size and elements of a row, from the shape of a cache."""
    if layout in ("PA_NZ", "PA_KV"):
        need(shape[-1] == (8 if is_index else 32), "key_cache")
        need(layout == "PA_NZ" or shape[2] == 2, "key_cache")
        return shape[0], shape[1], shape[-2], shape[-3] * shape[-1]
    if layout == "PA_BNSD":
        return shape[0], shape[1], shape[2], shape[3]
    return shape[0], shape[2], shape[1], shape[3]


def token_scale_shape(layout: str, num_pages: int, heads: int, page_size: int) -> tuple[int, int, int]:
    return (num_pages, page_size, heads) if layout in ("BSND", "PA_BSND") else (num_pages, heads, page_size)


def indexer(call: Call) -> None:
    need(call["layout"] in ("BSND", "PA_BSND", "PA_BNSD", "PA_NZ"), "layout")
    need(call["query_layout"] in ("BSND", "TND"), "query_layout")
    tnd = call["query_layout"] == "TND"
    query = tensor(call, "query", torch.int32, 3 if tnd else 4)
    query_scale = tensor(call, "query_scale", torch.float32, 2 if tnd else 3)
    cache = tensor(call, "key_cache", torch.int32, 5 if call["layout"] == "PA_NZ" else 4, contiguous=True)
    scale = tensor(call, "key_scale", torch.float32, 3, contiguous=True)
    selection(call)
    need(query_scale.shape == query.shape[:-1], "query_scale")
    n_idx, words = query.shape[-2:]
    need(1 <= words <= 32 and (call["layout"] != "PA_NZ" or words % 8 == 0), "query")
    num_pages, heads, page_size, columns = axes(call["layout"], tuple(cache.shape), True)
    need(heads == n_idx and columns == words, "key_cache")
    need(tuple(scale.shape) == token_scale_shape(call["layout"], num_pages, n_idx, page_size), "key_scale")
    batch = tensor(call, "seq_lens", torch.int32, 1).shape[0]
    need(tnd or query.shape[0] == batch, "seq_lens")
    capacity = pages(call, num_pages, page_size, batch)
    s_q = 1 if tnd else query.shape[1]
    tokens = query.shape[0] if tnd else batch * s_q
    spans = lengths(call, s_q, tokens, min(call["max_seq_len"], capacity), newest=True)
    live = int(spans.sum()) if tnd else tokens
    plan(call, 1, QSI_TILE_TOKENS, live * n_idx, tokens * n_idx)


def block_ids(call: Call, spans: np.ndarray, shared: bool) -> None:
    """Ids in the rows of real query tokens are -1 or blocks of the request."""
    ids = call["block_ids"].numpy()
    for request, length in enumerate(call["seq_lens"].tolist()):
        if call["query_layout"] == "TND":
            first = int(spans[:request].sum())
            rows = ids[first : first + int(spans[request])]
        else:
            rows = ids[request, : min(int(spans[request]), 1) if shared else int(spans[request])]
        limit = -(-max(length, 0) // call["block_size"])
        need(bool(((rows >= -1) & (rows < limit)).all()), "block_ids")


def attention(call: Call) -> None:
    layout = call["layout"]
    need(layout in ("BSND", "PA_BSND", "PA_BNSD", "PA_NZ", "PA_KV"), "layout")
    need(call["query_layout"] in ("BSND", "TND"), "query_layout")
    tnd = call["query_layout"] == "TND"
    query = tensor(call, "query", QUERY_DTYPES, 3 if tnd else 4)
    cache_ndim = {"PA_NZ": 5, "PA_KV": 6}.get(layout, 4)
    cache = tensor(call, "key_cache", torch.int8, cache_ndim, contiguous=True)
    need((call["value_cache"] is None) == (layout == "PA_KV"), "value_cache")
    if layout != "PA_KV":
        need(tensor(call, "value_cache", torch.int8, cache_ndim, True).shape == cache.shape, "value_cache")
    n_q, head_dim = query.shape[-2:]
    num_pages, n_kv, page_size, columns = axes(layout, tuple(cache.shape), False)
    need(head_dim in HEAD_DIMS, "query")
    need(n_kv > 0 and n_q > 0 and n_q % n_kv == 0, "query")
    padded = 64 if head_dim <= 64 else 128 if head_dim <= 128 else 256
    planes = layout in ("PA_NZ", "PA_KV")
    need(columns == padded or (columns == head_dim and not (planes and head_dim % 32)), "key_cache")
    need(call["block_size"] in (8, 16, 32, 64, 128), "block_size")
    need(abs(call["scale"]) < 3.4028235677973366e38, "scale")
    static = isinstance(call["key_scale"], torch.Tensor) and call["key_scale"].dim() == 2
    expected = (n_kv, head_dim) if static else token_scale_shape(layout, num_pages, n_kv, page_size)
    for name in ("key_scale", "value_scale"):
        scale = tensor(call, name, torch.float32, 2 if static else 3, contiguous=True)
        need(tuple(scale.shape) == expected, name)
    ids = tensor(call, "block_ids", torch.int32, query.dim())
    lens = tensor(call, "selected_lens", torch.int32, query.dim() - 1)
    batch = tensor(call, "seq_lens", torch.int32, 1).shape[0]
    need(tnd or query.shape[0] == batch, "seq_lens")
    shared = not tnd and ids.shape[1] == 1
    leading = query.shape[:-2] if not shared else (batch, 1)
    need(ids.shape[:-2] == tuple(leading) and ids.shape[-2] in (1, n_kv), "block_ids")
    need(lens.shape == ids.shape[:-1], "selected_lens")
    capacity = pages(call, num_pages, page_size, batch)
    s_q = 1 if tnd else query.shape[1]
    tokens = query.shape[0] if tnd else batch * s_q
    spans = lengths(call, s_q, tokens, min(MAX_SEQ_LEN, capacity), newest=False)
    block_ids(call, spans, shared)
    lists = batch if shared else tokens
    live = int(spans.sum()) if tnd else lists
    plan(call, 2, SFAA_TILE_TOKENS, live * n_kv, lists * n_kv)


def planner(call: Call) -> None:
    selection(call)
    for name in ("n_idx", "n_kv", "group", "s_q"):
        need(1 <= call.get(name, 1) <= 65536, name)
    need(0 <= call["num_cores"] <= 64, "num_cores")
    need(not (call.get("shared_list") and call["query_layout"] == "TND"), "shared_list")
    is_indexer = "n_idx" in call
    spans = lengths(call, call["s_q"], 2**31 - 1, call["max_seq_len"], newest=is_indexer)
    tnd = call["query_layout"] == "TND"
    tokens = int(spans.sum()) if tnd else len(spans) * (1 if call.get("shared_list") else call["s_q"])
    need(tokens * call.get("n_idx", call.get("n_kv", 1)) <= MAX_LIST_ROWS, "list rows")
    query_rows = call.get("group", 1) * (call["s_q"] if call.get("shared_list") else 1)
    need(query_rows <= MAX_QUERY_ROWS, "query rows")


def projection(call: Call, n_idx: int, head_dim: int) -> tuple[int, int]:
    """KV heads and rank of a projection."""
    weights = tensor(call, "projection", torch.float32, 3, contiguous=True)
    need(head_dim in HEAD_DIMS, "query")
    need(weights.shape[0] == n_idx and weights.shape[2] in range(8, 257, 8), "projection")
    heads, rest = divmod(weights.shape[1], head_dim)
    need(rest == 0 and heads > 0 and (n_idx == 1 or heads == 1), "projection")
    return n_idx * heads, weights.shape[2]


def project_query(call: Call) -> None:
    need(call["query"] is not None, "query")
    query = tensor(call, "query", QUERY_DTYPES, 3 if call["query"].dim() == 3 else 4)
    need(call["n_idx"] >= 1 and abs(call["scale"]) < 3.4028235677973366e38, "n_idx")
    n_kv, _ = projection(call, call["n_idx"], query.shape[-1])
    need(query.shape[-2] > 0 and query.shape[-2] % n_kv == 0, "query")


def write_cache(call: Call) -> None:
    layout = call["layout"]
    need(layout in ("BSND", "PA_BSND", "PA_BNSD", "PA_NZ", "PA_KV"), "layout")
    key = tensor(call, "key", QUERY_DTYPES, 3)
    for name in ("value", "index_key"):
        need(tensor(call, name, key.dtype, 3).shape == key.shape, name)
    tokens, n_kv, head_dim = key.shape
    slots = tensor(call, "slot_mapping", torch.int32, 1).numpy()
    need(len(slots) == tokens, "slot_mapping")
    weights = tensor(call, "projection", torch.float32, 3)
    heads, rank = projection(call, weights.shape[0], head_dim)
    need(heads == n_kv, "projection")
    cache_ndim = {"PA_NZ": 5, "PA_KV": 6}.get(layout, 4)
    cache = tensor(call, "key_cache", torch.int8, cache_ndim, contiguous=True)
    need((call["value_cache"] is None) == (layout == "PA_KV"), "value_cache")
    if layout != "PA_KV":
        need(tensor(call, "value_cache", torch.int8, cache_ndim, True).shape == cache.shape, "value_cache")
    num_pages, cache_heads, page_size, columns = axes(layout, tuple(cache.shape), False)
    padded = 64 if head_dim <= 64 else 128 if head_dim <= 128 else 256
    planes = layout in ("PA_NZ", "PA_KV")
    need(cache_heads == n_kv, "key_cache")
    need(columns == padded or (columns == head_dim and not (planes and head_dim % 32)), "key_cache")
    index = tensor(call, "index_cache", torch.int32, 5 if planes else 4, contiguous=True)
    found = axes("PA_NZ" if planes else layout, tuple(index.shape), True)
    need(found == (num_pages, weights.shape[0], page_size, rank // 8), "index_cache")
    need(not planes or rank % 64 == 0, "projection")
    token_scales = token_scale_shape(layout, num_pages, n_kv, page_size)
    index_scale = tensor(call, "index_scale", torch.float32, 3, contiguous=True)
    need(
        tuple(index_scale.shape) == token_scale_shape(layout, num_pages, weights.shape[0], page_size),
        "index_scale",
    )
    expected = (n_kv, head_dim) if call["static_scales"] else token_scales
    for name in ("key_scale", "value_scale"):
        scale = tensor(call, name, torch.float32, len(expected), contiguous=True)
        need(tuple(scale.shape) == expected, name)
    need(bool(((slots >= -1) & (slots < num_pages * page_size)).all()), "slot_mapping")


RULES = {
    "qsi": indexer,
    "block_scores": indexer,
    "sfaa": attention,
    "qsi_plan": planner,
    "sfaa_plan": planner,
    "project_query": project_query,
    "write_cache": write_cache,
}


def verdict(op: str, call: Call) -> str:
    if not fits_schema(op, call):
        return SCHEMA
    try:
        RULES[op](call)
    except Broken:
        return RULE
    return VALID
