# SPDX-License-Identifier: Apache-2.0
"""Prints a digest of every operator's results over all cases, as JSON. Run once for each instruction set."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json

import numpy as np

import builders
import calls
import operators
from cases import CORNER, CORRECTNESS, LAYOUTS


def digest(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def digests() -> dict[str, str]:
    found = {}
    for case in CORRECTNESS + CORNER:
        inputs = builders.build(case, seed=60)
        found[f"scores {case.name}"] = digest(operators.block_scores(inputs))
        block_ids, selected_lens = operators.qsi(inputs)
        found[f"lists {case.name}"] = digest(block_ids, selected_lens)
        found[f"attention {case.name}"] = digest(*operators.sfaa(inputs, block_ids, "float32"))
        found[f"rounded {case.name}"] = digest(operators.sfaa(inputs, block_ids)[0])
    for dtype in operators.FLOATS:
        results = calls.run("project_query", calls.project_query(dtype))
        found[f"project_query {dtype}"] = digest(*(result.numpy() for result in results))
        for layout in LAYOUTS:
            call = calls.write_cache(layout, dtype=dtype)
            calls.run("write_cache", call)
            names = ("key_cache", "value_cache", "index_cache", "index_scale", "key_scale", "value_scale")
            caches = [call[name].numpy() for name in names if call[name] is not None]
            found[f"write_cache {dtype} {layout}"] = digest(*caches)
    return found


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        results = digests()
    print(json.dumps(results))
