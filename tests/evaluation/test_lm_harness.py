# SPDX-License-Identifier: Apache-2.0
"""A task of lm-evaluation-harness through its own code, offline, on the model of `make demo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

lm_eval_tasks = pytest.importorskip("lm_eval.tasks", reason="lm-evaluation-harness is optional")

from sals.demo.model import load_smollm2  # noqa: E402
from sals.evaluation.lm_harness import run_tasks  # noqa: E402

TASK = """
task: numbers
dataset_path: json
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: generate_until
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{a}}}}"
generation_kwargs: {{until: ["."], max_gen_toks: 8, do_sample: false}}
metric_list:
  - {{metric: exact_match, aggregation: mean, higher_is_better: true}}
"""


@pytest.mark.demo
@pytest.mark.slow
def test_a_method_shows_in_a_generating_task(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    lines = [
        {"q": f"The secret number is {number}. The secret number is", "a": f" {number}"}
        for number in (4711, 2342)
    ]
    data.write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "numbers.yaml").write_text(TASK.format(data=data))
    manager = lm_eval_tasks.TaskManager(include_path=str(tmp_path))
    model, tokenizer = load_smollm2()
    found = {}
    for budget in (None, 64, 5):
        options = None if budget is None else {"method": "streaming", "budget": budget, "sinks": 1}
        results = run_tasks(model, tokenizer, ["numbers"], options, task_manager=manager)
        found[budget] = results["numbers"]["exact_match,none"]
    # Four tokens behind a sink do not reach the number.
    assert found == {None: 1.0, 64: 1.0, 5: 0.0}
