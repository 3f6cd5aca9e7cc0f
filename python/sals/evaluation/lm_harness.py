# SPDX-License-Identifier: Apache-2.0
"""Tasks of EleutherAI's lm-evaluation-harness on an attached model, where that package is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sals.integrations.transformers import attach


def check_installed(tasks: Sequence[str]) -> None:
    """Refuse tasks where the harness is missing.

    Raises
    ------
    ModuleNotFoundError
        If there are tasks and ``lm_eval`` is not installed.
    """
    if tasks and importlib.util.find_spec("lm_eval") is None:
        raise ModuleNotFoundError(
            "sals eval: lm_eval must be installed for its tasks. Run: pip install lm-eval", name="lm_eval"
        )


def run_tasks(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    tasks: Sequence[str],
    attach_options: dict[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Run tasks through the harness, dense or with a method.

    Only tasks that generate show a difference: a task that scores given answers reads them in one dense pass.

    Parameters
    ----------
    tasks : sequence of str
        Names that the harness knows; it loads their data itself.
    attach_options : dict, optional
        Arguments of ``sals.attach``; None leaves the model dense.
    **options
        Further arguments of ``lm_eval.simple_evaluate``, such as ``limit``.

    Returns
    -------
    dict
        The harness's ``results``, by task.

    Raises
    ------
    ModuleNotFoundError
        If ``lm_eval`` is not installed.
    """
    check_installed(tasks)
    import lm_eval
    from lm_eval.models.huggingface import HFLM

    wrapped = HFLM(pretrained=model, tokenizer=tokenizer)
    if attach_options is None:
        return lm_eval.simple_evaluate(model=wrapped, tasks=list(tasks), **options)["results"]
    with attach(model, **attach_options):
        return lm_eval.simple_evaluate(model=wrapped, tasks=list(tasks), **options)["results"]
