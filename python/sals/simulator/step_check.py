# SPDX-License-Identifier: Apache-2.0
"""Whether the kernels of a decode step return what the references do, for a few of its requests."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from sals.reference import project_query
from sals.reference.int4 import unpack_int4
from sals.simulator.sfaa_trial import floats_of_bfloat16
from sals.simulator.trial import Outputs, Trial

REQUESTS = 3  # that are checked, spread over the batch: the references take their time
MESSAGE_WIDTH = 160
# Arguments with one entry per request; caches and scales of pages are not, unless they are dense.
BATCHED = ("query", "query_scale", "seq_lens", "block_ids", "selected_lens", "block_table")
DENSE_CACHES = ("key_cache", "value_cache")
# Sums of another order round to another code where they lie between two.
LARGEST_CODE_STEP = 1
SCALE_TOLERANCE = 1e-5


def some_requests(batch: int) -> np.ndarray:
    """Return the first request, the last, and one between."""
    return np.unique(np.linspace(0, batch - 1, REQUESTS).astype(int))


def disagreement(name: str, trial: Trial, arguments: Mapping[str, Any], outputs: Outputs) -> tuple[str, ...]:
    """Compare lists, or attended values, with the reference: nothing, or what is wrong."""
    requests = some_requests(len(arguments["seq_lens"]))
    is_dense = arguments.get("block_table") is None
    names = (*BATCHED, *DENSE_CACHES) if is_dense else BATCHED
    part = {
        key: value[requests] if key in names and value is not None else value
        for key, value in arguments.items()
    }
    if is_dense and part["key_scale"].shape[0] == len(arguments["seq_lens"]) and part["key_scale"].ndim > 2:
        part["key_scale"] = part["key_scale"][requests]
    try:
        trial.checker(part)((outputs[0][requests], outputs[1][requests]))
    except AssertionError as error:
        return (f"{name}: " + textwrap.shorten(str(error), MESSAGE_WIDTH, placeholder=" ..."),)
    return ()


def disagreement_of_query(
    query: np.ndarray, projection: np.ndarray, scale: float, packed: np.ndarray, query_scale: np.ndarray
) -> tuple[str, ...]:
    """Compare packed index queries with the reference."""
    expected, expected_scale = project_query(
        floats_of_bfloat16(query), projection, n_idx=len(projection), scale=scale
    )
    steps = np.abs(unpack_int4(packed).astype(int) - unpack_int4(expected)).max(initial=0)
    if steps > LARGEST_CODE_STEP or not np.allclose(query_scale, expected_scale, SCALE_TOLERANCE, 0):
        return (f"project_query: codes are up to {steps} from those of the reference, or scales differ",)
    return ()
