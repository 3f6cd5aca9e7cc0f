# SPDX-License-Identifier: Apache-2.0
"""Shapes and sizes of the caches, and which slots the requests get."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cases import LAYOUTS
from sals import layouts
from sals.cache import CacheSpec
from sals.integrations.transformers.requests import Requests
from sals.reference import layouts as reference

PAGES, PAGE_SIZE, N_KV, N_IDX, RANK = 3, 32, 3, 3, 64


@pytest.mark.parametrize("head_dim", [64, 80, 128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_allocation(layout: str, head_dim: int) -> None:
    spec = CacheSpec(layout, PAGES, PAGE_SIZE, N_KV, head_dim, N_IDX, RANK)
    stored = spec.allocate()
    row = {64: 64, 80: 128, 128: 128}[head_dim]
    kv_shape = reference.cache_shape(layout, PAGES, PAGE_SIZE, N_KV, row, np.int8)
    index_layout = reference.index_layout(layout)
    index_shape = reference.cache_shape(index_layout, PAGES, PAGE_SIZE, N_IDX, RANK // 8, np.int32)
    assert tuple(stored.key.shape) == kv_shape
    assert stored.value is None if layout == "PA_KV" else tuple(stored.value.shape) == kv_shape
    assert tuple(stored.index.shape) == index_shape
    for scales in (stored.index_scale, stored.key_scale, stored.value_scale):
        assert tuple(scales.shape) == reference.scale_shape(layout, PAGES, PAGE_SIZE, N_KV)
    allocated = sum(tensor.numel() * tensor.element_size() for tensor in stored.tensors())
    assert allocated == PAGES * PAGE_SIZE * spec.bytes_per_token
    assert spec.bytes_per_token == N_KV * (2 * row + 8) + N_IDX * (RANK // 2 + 4)


def test_bytes_of_a_token_and_kv_head() -> None:
    # int8 K and V with head_dim 128 and an index of rank 64; the same in bfloat16 takes 512.
    assert CacheSpec("PA_BNSD", 1, 128, 1, 128, 1, 64).bytes_per_token == 256 + 8 + 32 + 4


def test_unknown_layout_and_rank() -> None:
    with pytest.raises(ValueError, match=r"layout must be one of .*, got 'NHD'"):
        layouts.kv_cache_shape("NHD", 1, 16, 1, 64)
    with pytest.raises(ValueError, match=r"rank must be a positive multiple of 64 .* in PA_NZ, got 32"):
        layouts.index_cache_shape("PA_KV", 1, 16, 1, 32)


def make_requests(max_batch: int = 3) -> Requests:
    return Requests(max_batch, 10, page_size=4, block_size=4, device=torch.device("cpu"))


def test_only_tokens_get_slots() -> None:
    requests = make_requests()
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], dtype=torch.bool)
    step = requests.begin(2, 5, mask)
    # Three pages of four slots each; request 1 begins with page 3.
    assert step.slot_mapping.tolist() == [-1, -1, 0, 1, 2, 12, 13, 14, 15, 16]
    assert step.seq_lens.tolist() == [3, 5]
    assert step.query_lens.tolist() == [3, 5]
    assert step.is_prefill
    requests.commit(step)
    step = requests.begin(2, 2, None)
    assert step.slot_mapping.tolist() == [3, 4, 17, 18]
    assert step.seq_lens.tolist() == [5, 7]
    assert step.query_lens is None
    assert not step.is_prefill


def test_a_pass_that_failed_can_be_repeated() -> None:
    requests = make_requests()
    first = requests.begin(1, 3, None)
    again = requests.begin(1, 3, None)
    assert torch.equal(first.slot_mapping, again.slot_mapping)
    assert requests.num_columns == 0


def test_crop_removes_columns_not_tokens() -> None:
    requests = make_requests()
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]], dtype=torch.bool)
    requests.commit(requests.begin(2, 3, mask))
    requests.crop(1)
    assert requests.begin(2, 1, None).seq_lens.tolist() == [3, 3]
    requests.crop(100)
    assert requests.begin(2, 1, None).seq_lens.tolist() == [1, 1]


def test_tokens_first_and_back() -> None:
    requests = make_requests()
    mask = torch.tensor([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=torch.bool)
    step = requests.begin(3, 4, mask)
    columns = torch.arange(12).view(3, 4, 1)
    rows = step.tokens_first(columns)
    assert rows[0, :2, 0].tolist() == [1, 3]
    assert rows[1, :, 0].tolist() == [4, 5, 6, 7]
    assert torch.equal(step.in_columns(rows), columns)


def test_all_blocks_of_ragged_requests() -> None:
    requests = make_requests()
    mask = torch.tensor([[0] * 8 + [1], [1] * 9, [0] * 9], dtype=torch.bool)
    step = requests.begin(3, 9, mask)
    block_ids, lengths = step.all_blocks
    assert block_ids[:, 0, 0].tolist() == [[0, -1, -1], [0, 1, 2], [-1, -1, -1]]
    assert lengths[:, 0, 0].tolist() == [1, 9, 0]


def test_a_fork_copies_pages_a_move_does_not() -> None:
    requests = make_requests(max_batch=4)
    requests.commit(requests.begin(3, 5, None))
    before = requests.begin(3, 1, None).block_table
    source, target = requests.take([2, 0, 1])
    assert source.tolist() == target.tolist() == []
    assert torch.equal(requests.begin(3, 1, None).block_table, before[[2, 0, 1]])
    source, target = requests.take([0, 0, 1])
    # Five tokens fill two pages of the three that a request owns.
    assert source.tolist() == before[2, :2].tolist()
    table = requests.begin(3, 1, None).block_table
    assert target.tolist() == table[1, :2].tolist()
    assert len(set(table.flatten().tolist())) == table.numel()
