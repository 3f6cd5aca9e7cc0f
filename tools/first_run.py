# SPDX-License-Identifier: Apache-2.0
"""One decode step on a device, compared with the CPU operator by operator.

    python tools/first_run.py          on npu:0
    python tools/first_run.py cpu      compares the CPU with itself

The int4 codes of a projection may differ in a few places where the device sums in another order. So each
operator of the device gets the CPU's inputs, and what it makes of them is compared.
"""

import sys

import sals  # noqa: F401  before torch, which may load torch_npu

# isort: split
import torch

PAGE, PAGES, HEADS, GROUP, DIM, RANK, TOKENS = 128, 16, 2, 4, 128, 64, 1500
SCALE = DIM**-0.5
LIMIT = {"max_seq_len": 2048}
CLOSE = 2e-3  # of the attention's result, whose values are about 1
CODES = 1  # a projection may round to the neighbouring int4 code
Results = dict[str, torch.Tensor]


def codes_of(words: torch.Tensor) -> torch.Tensor:
    """The int4 codes of packed words, each as a number."""
    return torch.stack([(words >> 4 * i & 15 ^ 8) - 8 for i in range(8)], dim=-1)


def inputs() -> Results:
    torch.manual_seed(0)
    key, value = torch.randn(2, TOKENS, HEADS, DIM).half()
    table = torch.randperm(PAGES, dtype=torch.int32)[None]
    pages = table[0].repeat_interleave(PAGE) * PAGE + torch.arange(PAGE, dtype=torch.int32).repeat(PAGES)
    return {
        "key": key,
        "value": value,
        "query": torch.randn(1, 1, HEADS * GROUP, DIM).half(),
        "projection": torch.randn(HEADS, DIM, RANK) / DIM**0.5,
        "slots": pages[:TOKENS].contiguous(),
        "table": table,
        "lens": torch.tensor([TOKENS], dtype=torch.int32),
    }


def empty_caches(device: str) -> list[torch.Tensor]:
    pages = (PAGES, HEADS, PAGE)
    kv = [torch.zeros(*pages, DIM, dtype=torch.int8, device=device) for _ in range(2)]
    index = torch.zeros(*pages, RANK // 8, dtype=torch.int32, device=device)
    return [*kv, index, *(torch.zeros(pages, device=device) for _ in range(3))]


def step(device: str, known: Results) -> Results:
    """Run the operators on `device`; each takes `known` results of those before it, where there are any."""
    op = torch.ops.sals
    found: Results = {}

    def get(name: str) -> torch.Tensor:
        return known.get(name, found.get(name)).to(device)

    caches = empty_caches(device)
    names = ("key_cache", "value_cache", "index_cache", "index_scale", "key_scale", "value_scale")
    op.write_cache(get("key"), get("value"), get("key"), get("projection"), get("slots"), *caches)
    found |= dict(zip(names, caches, strict=True))
    found["packed"], found["query_scale"] = op.project_query(
        get("query"), get("projection"), n_idx=HEADS, scale=SCALE
    )
    qsi_shape, sfaa_shape = {"n_idx": HEADS, **LIMIT}, {"n_kv": HEADS, "group": GROUP, **LIMIT}
    found["qsi_plan"] = op.qsi_plan(get("lens"), **qsi_shape, num_cores=20)
    found["sfaa_plan"] = op.sfaa_plan(get("lens"), **sfaa_shape, num_cores=20)
    at = {"block_table": get("table")}
    indexer = (get("packed"), get("query_scale"), get("index_cache"), get("index_scale"), get("lens"))
    found["block_ids"], found["selected_lens"] = op.qsi(*indexer, **at, **LIMIT)
    attended = ("key_cache", "value_cache", "key_scale", "value_scale", "block_ids", "selected_lens", "lens")
    attention = (get("query"), *(get(name) for name in attended))
    found["out"], _ = op.sfaa(*attention, **at, scale=SCALE)
    # Kernels take plans for the cores of their own device only.
    plan = op.qsi_plan(get("lens"), **qsi_shape)
    found["planned_ids"], _ = op.qsi(*indexer, **at, **LIMIT, plan=plan)
    plan = op.sfaa_plan(get("lens"), **sfaa_shape)
    found["planned_out"], _ = op.sfaa(*attention, **at, scale=SCALE, plan=plan)
    return {name: tensor.cpu() for name, tensor in found.items()}


def verdict(name: str, expected: torch.Tensor, found: torch.Tensor) -> tuple[str, bool]:
    if torch.equal(expected, found):
        return "equal", True
    if name in ("packed", "index_cache"):
        expected, found, limit = codes_of(expected), codes_of(found), float(CODES)
    else:
        limit = {"out": CLOSE, "planned_out": CLOSE, "query_scale": 1e-5, "index_scale": 1e-5}.get(name, 0.0)
    error = (expected.double() - found.double()).abs().max().item()
    passed = error <= limit  # not so for NaN
    return f"{'close' if passed else 'DIFFERENT'}, by up to {error:.1e}", passed


def main(device: str) -> int:
    given = inputs()
    expected = step("cpu", given)
    found = step(device, {**given, **expected})
    passed = True
    for name, tensor in expected.items():
        text, good = verdict(name, tensor, found[name])
        passed &= good
        print(f"{name:14} {text}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "npu:0"))
