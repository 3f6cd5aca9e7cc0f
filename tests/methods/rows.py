# SPDX-License-Identifier: Apache-2.0
"""Random requests for `LayerKv`, without a model, and the reference's view of one row of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from torch import Tensor

from sals.kept import LayerKv
from sals.kept.attend import RowQuery
from sals.kept.codes import from_codes, int8_codes
from sals.methods.interface import Method

SEED = 77
HEAD_DIM, GROUP = 64, 3
SCALE = HEAD_DIM**-0.5


@dataclasses.dataclass
class Requests:
    """Queries [rows, tokens, group, head_dim], keys and values [rows, tokens, head_dim]."""

    query: Tensor
    key: Tensor
    value: Tensor

    @classmethod
    def random(cls, rows: int, tokens: int, seed: int = SEED, dtype: torch.dtype = torch.float32) -> Requests:
        """Logits spread over several units, and some keys draw much attention from every query."""
        print(f"seed {seed}")
        generator = torch.Generator().manual_seed(seed)
        shape = rows, tokens, HEAD_DIM
        direction = torch.randn(HEAD_DIM, generator=generator)
        strength = torch.randn(rows, tokens, 1, generator=generator)
        key = torch.randn(shape, generator=generator) + strength * direction
        query = torch.randn(rows, tokens, GROUP, HEAD_DIM, generator=generator) + direction / 2
        value = torch.randn(shape, generator=generator)
        return cls(query.to(dtype), key.to(dtype), value.to(dtype))

    def cut(self, begin: int, end: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of a pass."""
        return self.query[:, begin:end], self.key[:, begin:end], self.value[:, begin:end]

    def stored(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Keys and values of a row as the int8 cache gives them back, float64."""
        pair = (from_codes(*int8_codes(x[row]), HEAD_DIM) for x in (self.key, self.value))
        key, value = (x.double().numpy() for x in pair)
        return key, value


def new_layer(method: Method, max_tokens: int = 4096) -> LayerKv:
    """A layer of the method."""
    return LayerKv(method, 0, HEAD_DIM, max_tokens)


def prompt(kv: LayerKv, requests: Requests, tokens: int, lens: Tensor | None = None) -> None:
    """Give the first tokens of every request as a prompt."""
    query, key, value = requests.cut(0, tokens)
    lens = torch.full((len(key),), tokens) if lens is None else lens
    kv.fill(query, key, value, lens, SCALE)


def step(kv: LayerKv, requests: Requests, begin: int, end: int) -> Tensor:
    """One pass over tokens [begin, end) of every request; the outputs."""
    query, key, value = requests.cut(begin, end)
    return one_pass(kv, query, key, value, torch.full((len(key),), end - begin))


def one_pass(kv: LayerKv, query: Tensor, key: Tensor, value: Tensor, lens: Tensor) -> Tensor:
    """One pass of given tensors, of which `lens` tokens are real."""
    kv.begin(lens)
    kv.append(key, value, lens)
    return kv.attend(RowQuery(query, lens), SCALE)


def held(kv: LayerKv, row: int) -> list[int]:
    """Positions that a row holds."""
    return kv.positions()[row, : int(kv.rows.lengths[row])].tolist()
