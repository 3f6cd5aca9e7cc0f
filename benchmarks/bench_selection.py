# SPDX-License-Identifier: Apache-2.0
"""Vector cycles of both selection policies on score rows of a real model.

Usage: python -m benchmarks.bench_selection [--candidates N ...] [--layers N] [--window N] [--markdown FILE]
Cycles are modelled by the simulator. Index keys and queries are the rotated keys and queries of SmolLM2-135M,
rank 64, over the text of Python's documentation. A row consists of windows of 4,096 tokens, each computed by
itself, because the model has 8,192 positions; windows overlap in the text where it is too short. The query is
that of the last token. Fewer layers and shorter windows make a million tokens affordable.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from benchmarks.bench_kernels import markdown, vector_cycles
from sals.demo.model import load_smollm2
from sals.demo.text import pydoc_text
from sals.selection import Selection
from sals.simulator.qsi import run_qsi

CANDIDATES = (4096, 8192)
LAYERS = 4  # of the model that are computed; rows are those of all but the first
WINDOW = 4096
BLOCK = 16
PAGE = 128
CODES = 7  # int4 from -7 to 7


def pack(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise rows to int4: words of eight codes, and scales."""
    scale = np.abs(values).max(-1) / CODES
    codes = np.rint(values / scale[..., None]).astype(np.int32).reshape(*values.shape[:-1], -1, 8)
    words = ((codes & 15).astype(np.uint32) << np.arange(0, 32, 4, dtype=np.uint32)).sum(-1, dtype=np.uint32)
    return words.view(np.int32), scale.astype(np.float32)


@torch.no_grad()
def windows(count: int, layers: int, window: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Keys [layers - 1, heads, window, 64] of each window, and its last queries [layers - 1, heads, 64]."""
    model, tokenizer = load_smollm2()
    decoder = model.model
    decoder.layers = decoder.layers[:layers]
    ids = torch.tensor(tokenizer(pydoc_text()).input_ids)
    queries: list[torch.Tensor] = []
    for layer in decoder.layers:
        layer.self_attn.q_proj.register_forward_hook(lambda _m, _i, output: queries.append(output[0, -1]))
    for start in np.linspace(0, len(ids) - window, count).astype(int):
        queries.clear()
        result = decoder(ids[None, start : start + window], use_cache=True)
        cos, sin = decoder.rotary_emb(result.last_hidden_state, torch.tensor([[window - 1]]))
        keys = torch.stack([result.past_key_values.layers[i].keys[0] for i in range(layers)])
        heads, dim = keys.shape[1], keys.shape[-1]
        flat = torch.stack(queries).reshape(layers, 1, -1, 1, dim)
        rotated = torch.stack([apply_rotary_pos_emb(q, q, cos, sin)[0] for q in flat])
        grouped = rotated.reshape(layers, heads, -1, dim).mean(2) / dim**0.5
        yield keys[1:].numpy(), grouped[1:].numpy()


def cycles_of(keys: np.ndarray, query: np.ndarray, order: str) -> float:
    """Vector cycles of the selection over a row of keys [tokens, 64]."""
    words, scale = pack(keys)
    query_words, query_scale = pack(query)
    pages = -(-len(keys) // PAGE)
    cache = np.zeros((pages, 1, PAGE, words.shape[-1]), np.int32)
    scales = np.ones((pages, 1, PAGE), np.float32)
    cache.reshape(-1, words.shape[-1])[: len(keys)] = words
    scales.reshape(-1)[: len(keys)] = scale
    selection = Selection(sink_blocks=0, tail_blocks=1, order=order)
    _, _, result = run_qsi(
        query_words.reshape(1, 1, 1, -1), query_scale.reshape(1, 1, 1), cache, scales,
        np.array([len(keys)], np.int32), max_seq_len=len(keys), selection=selection,
        block_table=np.arange(pages, dtype=np.int32)[None], cores=1, trace=True, race_detection=False,
    )  # fmt: skip
    return vector_cycles(result)


def rows(candidates: Sequence[int], layers: int, window: int) -> Iterator[Sequence[str]]:
    yield "candidates", "rows", "merge-sort ladder, cycles", "threshold, cycles", "least ratio"
    tokens = [(n + 1) * BLOCK for n in candidates]
    found = list(windows(-(-max(tokens) // window), layers, window))
    keys = np.concatenate([k for k, _ in found], axis=2)
    queries = found[-1][1]
    for n, length in zip(candidates, tokens, strict=True):
        pairs = [
            tuple(cycles_of(keys[at][-length:], queries[at], order) for order in ("score", "index"))
            for at in np.ndindex(queries.shape[:2])
        ]
        ladder, threshold = np.mean(pairs, axis=0)
        least = min(a / b for a, b in pairs)
        yield f"{n:,}", str(len(pairs)), f"{ladder:,.0f}", f"{threshold:,.0f}", f"{least:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, nargs="+", default=list(CANDIDATES))
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--window", type=int, default=WINDOW)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    text = "\n".join(markdown(list(rows(options.candidates, options.layers, options.window)))) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
