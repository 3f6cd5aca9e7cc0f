# SPDX-License-Identifier: Apache-2.0
"""The selection rule: which blocks of a row are kept, exactly, for any length.

A row has ``visible`` tokens in ``N = ceil(visible / block_size)`` blocks. The first ``sink_blocks`` and the
last ``tail_blocks`` blocks are always kept; the ``n`` blocks between them are candidates, of which the rule
keeps ``k`` of the highest score. Everything here but the masses of coverage mode is integer arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sals._contract import (
    COVERAGE_MASS_ONE,
    COVERAGE_ONE,
    DEFAULT_BLOCK_SIZE,
    DEFAULT_MAX_BLOCKS,
    DEFAULT_SINK_BLOCKS,
    DEFAULT_TAIL_BLOCKS,
    INVALID_BLOCK,
    SELECTION_ORDERS,
)


@dataclass(frozen=True)
class SelectionParams:
    """The integers (and one float) that fix a selection; same names and defaults as ``sals::qsi``."""

    block_size: int = DEFAULT_BLOCK_SIZE
    keep_num: int = 1
    keep_den: int = 4
    min_blocks: int = 0
    max_blocks: int = DEFAULT_MAX_BLOCKS
    coverage: float = 0.0
    sink_blocks: int = DEFAULT_SINK_BLOCKS
    tail_blocks: int = DEFAULT_TAIL_BLOCKS
    order: str = "index"

    def __post_init__(self) -> None:
        """Reject an unknown order."""
        if self.order not in SELECTION_ORDERS:
            raise ValueError(f"order must be one of {tuple(SELECTION_ORDERS)}, got {self.order!r}")

    @property
    def coverage_q(self) -> int:
        """Coverage as an integer fraction of COVERAGE_ONE; 0 means budget mode, so a coverage > 0 is >= 1."""
        return max(round(min(self.coverage, 1.0) * COVERAGE_ONE), 1) if self.coverage > 0 else 0


def num_blocks(visible: int, block_size: int) -> int:
    """Blocks of a row that sees `visible` tokens; none for a length of 0 or less."""
    return -(-max(visible, 0) // block_size)


def candidate_range(total_blocks: int, params: SelectionParams) -> range:
    """Ids of the blocks that compete: neither sink nor tail. Empty when sinks and tail cover the row."""
    return range(params.sink_blocks, max(total_blocks - params.tail_blocks, params.sink_blocks))


def clamp_count(k: int, n: int, params: SelectionParams) -> int:
    """Apply min_blocks and max_blocks to a count of kept candidates, in both modes alike."""
    return min(max(k, min(params.min_blocks, n)), params.max_blocks)


def budget(n: int, params: SelectionParams) -> int:
    """Kept candidates out of `n` in budget mode: ``ceil(n * keep_num / keep_den)``, clamped."""
    return clamp_count(-(-n * params.keep_num // params.keep_den), n, params)


def normalise_scores(scores: np.ndarray) -> np.ndarray:
    """Scores as the order sees them, float32: NaN counts as -inf; -0.0 and +0.0 compare equal as they are."""
    scores = np.asarray(scores, dtype=np.float32)
    return np.where(np.isnan(scores), np.float32(-np.inf), scores)


def rank_candidates(scores: np.ndarray, candidates: range) -> list[int]:
    """Candidate ids, best first: higher score first, equal scores by lower id."""
    values = normalise_scores(scores)[candidates.start : candidates.stop]
    descending = np.argsort(-values, kind="stable")
    return [candidates.start + int(i) for i in descending]


def masses(scores: np.ndarray) -> list[int]:
    """Integer softmax masses ``rint(COVERAGE_MASS_ONE * exp(score - max))``; equal scores have equal masses.

    The difference is taken in float32, as every implementation does, and is 0 where a score equals the
    maximum, also when both are infinite.
    """
    if len(scores) == 0:
        return []
    values = normalise_scores(scores)
    best = values.max()
    with np.errstate(invalid="ignore", over="ignore"):
        differences = np.where(values == best, np.float32(0.0), values - best)
    return [int(w) for w in np.rint(COVERAGE_MASS_ONE * np.exp(differences.astype(np.float64)))]


def coverage_count(sorted_masses: list[int], params: SelectionParams) -> int:
    """Kept candidates in coverage mode, given the masses in score order.

    A candidate is kept while ``mass before it * COVERAGE_ONE < coverage_q * mass of all``; a coverage of 1
    keeps every candidate, those without mass too.
    """
    n = len(sorted_masses)
    if params.coverage_q >= COVERAGE_ONE:
        return clamp_count(n, n, params)
    threshold = params.coverage_q * sum(sorted_masses)
    mass_before = 0
    k = 0
    while k < n and mass_before * COVERAGE_ONE < threshold:
        mass_before += sorted_masses[k]
        k += 1
    return clamp_count(k, n, params)


def width(max_seq_len: int, params: SelectionParams) -> int:
    """Columns of ``block_ids``: enough for every row of at most `max_seq_len` tokens."""
    total = num_blocks(max_seq_len, params.block_size)
    n_max = len(candidate_range(total, params))
    k_max = min(n_max, params.max_blocks) if params.coverage > 0 else budget(n_max, params)
    return min(params.sink_blocks + k_max + params.tail_blocks, total)


def select(scores: np.ndarray, visible: int, params: SelectionParams) -> list[int]:
    """Choose the blocks of one row.

    Parameters
    ----------
    scores : float32 array, shape (at least num_blocks(visible),)
        Score of every block of the row. Those of sinks and tail are not looked at.
    visible : int
        Tokens that the row sees. 0 or less selects nothing.
    params : SelectionParams
        The rule.

    Returns
    -------
    list of int
        Distinct block ids: ascending (``order="index"``), or sinks, candidates by falling score, tail
        (``order="score"``). Not padded.
    """
    total = num_blocks(visible, params.block_size)
    candidates = candidate_range(total, params)
    if not candidates:
        return list(range(total))
    ranked = rank_candidates(scores, candidates)
    if params.coverage > 0:
        candidate_masses = masses(np.asarray(scores)[candidates.start : candidates.stop])
        k = coverage_count([candidate_masses[i - candidates.start] for i in ranked], params)
    else:
        k = budget(len(candidates), params)
    kept = ranked[:k] if params.order == "score" else sorted(ranked[:k])
    return [*range(params.sink_blocks), *kept, *range(candidates.stop, total)]


def selected_len(block_ids: list[int], visible: int, block_size: int) -> int:
    """Visible tokens in the listed blocks; only the last block of the row can be partial."""
    return sum(min(block_size, visible - i * block_size) for i in block_ids if i != INVALID_BLOCK)
