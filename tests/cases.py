# SPDX-License-Identifier: Apache-2.0
"""The problems that every lane solves: reference, CPU operators, simulator and NPU drive the same lists."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One call of the indexer followed by one of the attention. Defaults make a small, ordinary one."""

    name: str
    seq_lens: tuple[int, ...] = (200, 77, 16, 333)
    n_kv: int = 2
    group: int = 4
    s_q: int = 1
    query_lens: tuple[int, ...] | None = None  # BSND: real tokens of each request; TND: its span
    head_dim: int = 64
    rank: int = 64
    n_idx: int | None = None  # None: one index head per KV head
    page_size: int = 32
    block_size: int = 16
    keep_num: int = 1
    keep_den: int = 4
    min_blocks: int = 0
    max_blocks: int = 2048
    coverage: float = 0.0
    sink_blocks: int = 1
    tail_blocks: int = 2
    layout: str = "PA_BNSD"
    static_scales: bool = True
    dtype: str = "bfloat16"  # of query and output: float16, bfloat16 or float32
    order: str = "index"
    query_layout: str = "BSND"
    shared_list: bool = False  # one list per request instead of one per query token
    causal: bool = True
    ties: bool = False  # index keys that repeat, so that many blocks have equal scores
    max_seq_len: int | None = None  # None: the longest request

    @property
    def batch(self) -> int:
        return len(self.seq_lens)

    @property
    def n_q(self) -> int:
        return self.n_kv * self.group

    @property
    def index_heads(self) -> int:
        return self.n_kv if self.n_idx is None else self.n_idx

    @property
    def limit(self) -> int:
        """The max_seq_len argument."""
        return max(0, *self.seq_lens) if self.max_seq_len is None else self.max_seq_len

    @property
    def spans(self) -> tuple[int, ...]:
        """Real query tokens of each request."""
        return (self.s_q,) * self.batch if self.query_lens is None else self.query_lens

    @property
    def index_layout(self) -> str:
        return "PA_NZ" if self.layout == "PA_KV" else self.layout

    def selection_args(self) -> dict:
        """The selection arguments that qsi takes, max_seq_len apart."""
        names = (
            "block_size", "keep_num", "keep_den", "min_blocks", "max_blocks", "coverage", "sink_blocks",
            "tail_blocks", "order",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def but(self, **changes) -> Case:
        return dataclasses.replace(self, **changes)


LAYOUTS = ("PA_BNSD", "PA_BSND", "PA_NZ", "PA_KV", "BSND")

CORRECTNESS = (
    *(Case(f"static-{layout}", layout=layout) for layout in LAYOUTS),
    *(Case(f"per-token-{layout}", layout=layout, static_scales=False) for layout in LAYOUTS),
    *(Case(f"dtype-{dtype}", dtype=dtype) for dtype in ("float16", "float32")),
    *(
        Case(f"block-{size}", block_size=size, page_size=2 * size, seq_lens=(9 * size + 3, 3 * size, 1))
        for size in (8, 32, 64, 128)
    ),
    *(Case(f"head-dim-{dim}", head_dim=dim, seq_lens=(150, 40)) for dim in (80, 96, 128, 192, 256)),
    *(Case(f"rank-{rank}", rank=rank, seq_lens=(150, 40)) for rank in (8, 24, 128)),
    *(Case(f"group-{group}", group=group, seq_lens=(150, 40)) for group in (1, 3, 10, 16)),
    Case("one-head", n_kv=1),
    Case("joint-index", n_idx=1, rank=256),
    Case("order-score", order="score"),
    Case("coverage-half", coverage=0.5, sink_blocks=0),
    Case("coverage-most", coverage=0.97, order="score"),
    Case("coverage-all", coverage=1.0),
    Case("min-blocks", keep_num=0, min_blocks=3),
    Case("max-blocks", keep_num=1, keep_den=1, max_blocks=4),
    Case("keep-3-of-10", keep_num=3, keep_den=10, seq_lens=(103 * 16, 40 * 16 + 1)),
    Case("mtp-per-token", s_q=4),
    Case("mtp-shared", s_q=4, shared_list=True),
    Case("mtp-ragged-rows", s_q=4, query_lens=(4, 2, 0, 1)),
    Case("mtp-shared-ragged-rows", s_q=4, query_lens=(4, 2, 0, 1), shared_list=True, layout="PA_KV"),
    Case("mtp-not-causal", s_q=3, shared_list=True, causal=False),
    Case("tnd", query_layout="TND", query_lens=(1, 3, 0, 2)),
    Case("tnd-prefill-chunk", query_layout="TND", query_lens=(17, 1), seq_lens=(65, 130), n_idx=1),
    Case("long-max-seq-len", max_seq_len=4096),
    Case("ties", ties=True, seq_lens=(640, 511)),
    Case("ties-order-score", ties=True, seq_lens=(640, 511), order="score"),
    Case("ties-coverage", ties=True, seq_lens=(640, 511), coverage=0.4),
)

# Corner cases; those named defect-N trigger a known defect of earlier operators for the same problem.
CORNER = (
    Case("one-token", seq_lens=(1,)),
    Case("page-edges", seq_lens=(31, 32, 33, 63, 64, 65)),
    Case("block-edges", seq_lens=(15, 16, 17, 47, 48, 49, 127, 128, 129)),
    Case("all-padding", seq_lens=(0, -1, 0)),
    Case("padded-requests", seq_lens=(100, 0, -1, 1)),
    Case("tail-only", keep_num=0, sink_blocks=0, tail_blocks=1),
    Case("keep-all", keep_num=1, keep_den=1),
    Case("tail-covers-all", tail_blocks=64),
    Case("one-page-block", page_size=16),
    Case("page-of-blocks", page_size=512, seq_lens=(700,)),
    *(
        Case(f"defect-1-keep-{num}", keep_num=num, keep_den=100, seq_lens=(103 * 16,), tail_blocks=3)
        for num in (7, 14, 15, 17, 27, 28, 30, 33, 34, 55, 60, 66, 72, 81)
    ),
    Case("defect-2-rank-64-head-dim-128", rank=64, head_dim=128),
    Case("defect-5-one-empty-inside", seq_lens=(100, 0, 90), n_kv=1),
    Case("defect-5-three-empty-inside", seq_lens=(100, 0, -1, 0, 90), n_kv=1),
    Case("defect-5-no-query-inside", seq_lens=(100, 50, 90), s_q=2, query_lens=(2, 0, 2), n_kv=1),
    *(
        Case(f"defect-6-len-{length}", seq_lens=(length, length), s_q=4, query_lens=(3, 1), shared_list=True)
        for length in (992, 991, 990, 989)
    ),
    Case("defect-7-shorter-than-s-q", seq_lens=(1, 2, 3, 5), s_q=4, shared_list=True),
    Case("defect-7-not-causal", seq_lens=(1, 2, 3, 5), s_q=4, shared_list=True, causal=False),
    Case("defect-11-tail-140", seq_lens=(180 * 16 + 5, 139 * 16), tail_blocks=140, n_kv=1),
    Case("defect-11-tail-520", seq_lens=(560 * 16 + 5, 519 * 16), tail_blocks=520, n_kv=1),
)

# Sizes at which speed is measured; far too large for the NumPy reference.
PERFORMANCE = (
    Case(
        "decode-84x10k", seq_lens=(10240,) * 84, group=10, s_q=4, shared_list=True, head_dim=128,
        page_size=512, tail_blocks=32, layout="PA_NZ",
    ),
    *(
        Case(
            f"decode-1x{kilo}k", seq_lens=(kilo * 1024,), n_kv=8, head_dim=128, page_size=128, tail_blocks=32
        )
        for kilo in (2, 8, 32, 128)
    ),
)  # fmt: skip
