# SPDX-License-Identifier: Apache-2.0
"""Saving, loading and checking of a Calibration."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from sals.calibration import Calibration, ModelFingerprint

MODEL = ModelFingerprint(model_type="llama", n_layers=3, n_q=6, n_kv=2, head_dim=16, hidden_size=96)


def make(**changes) -> Calibration:
    generator = torch.Generator().manual_seed(0)
    arguments = {
        "query_projection": torch.randn(3, 2, 16, 8, generator=generator),
        "key_projection": torch.randn(3, 2, 16, 8, generator=generator),
        "rotated": True,
        "block_size": 16,
        "sink_blocks": 1,
        "tail_blocks": 32,
        "dense_layers": (0, 2),
        "model": MODEL,
        "report": ({"name": "pca", "chosen": True, "kl": {"1/4": 0.004}},),
        "settings": {"seed": 0},
    }
    return Calibration(**(arguments | changes))


def config(**changes) -> SimpleNamespace:
    facts = {
        "model_type": "llama",
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "hidden_size": 96,
    }
    return SimpleNamespace(**(facts | changes))


@pytest.mark.parametrize("same", [False, True], ids=["two projections", "one projection"])
def test_save_and_load_round_trip(tmp_path, same):
    original = make()
    if same:
        original = dataclasses.replace(original, query_projection=original.key_projection)
    original.save(tmp_path / "c.safetensors")
    loaded = Calibration.load(tmp_path / "c.safetensors")
    assert torch.equal(loaded.query_projection, original.query_projection)
    assert torch.equal(loaded.key_projection, original.key_projection)
    for field in dataclasses.fields(Calibration):
        if not field.name.endswith("_projection"):
            assert getattr(loaded, field.name) == getattr(original, field.name), field.name
    assert (loaded.n_idx, loaded.in_dim, loaded.rank) == (2, 16, 8)


def test_fingerprint_reads_head_dim_or_derives_it():
    assert ModelFingerprint.of(config()) == MODEL
    assert ModelFingerprint.of(config(head_dim=32)).head_dim == 32
    assert ModelFingerprint.of(config(num_key_value_heads=None)).n_kv == 6
    assert ModelFingerprint.of(config()).name == "llama"
    assert ModelFingerprint.of(config(name_or_path="models/Some-1B")).name == "Some-1B"
    make().validate_for(config(name_or_path="models/Some-1B"))


def test_validate_for_names_what_differs():
    make().validate_for(config())
    with pytest.raises(ValueError, match=r"n_layers 3 \(this model: 4\), hidden_size 96 \(this model: 192\)"):
        make().validate_for(config(num_hidden_layers=4, hidden_size=192, head_dim=16))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"query_projection": torch.zeros(2, 2, 16, 8)},
            r"query_projection must have shape .* n_layers = 3, got",
        ),
        (
            {"key_projection": torch.zeros(3, 2, 16, 16)},
            r"key_projection must have the shape of query_projection",
        ),
        (
            {"query_projection": torch.zeros(3, 1, 16, 8), "key_projection": torch.zeros(3, 1, 16, 8)},
            r"\[n_idx, in_dim\] must be \[2, 16\] \(per head\) or \[1, 32\] \(joint\) .*, got \[1, 16\]",
        ),
        (
            {"query_projection": torch.zeros(3, 2, 16, 12), "key_projection": torch.zeros(3, 2, 16, 12)},
            r"rank must be a multiple of 8 and at most 16, got 12",
        ),
        (
            {"key_projection": torch.zeros(3, 2, 16, 8, dtype=torch.float64)},
            r"key_projection must be float32",
        ),
        ({"dense_layers": (2, 0)}, r"dense_layers must be ascending, distinct and in \[0, 3\), got \[2, 0\]"),
        ({"dense_layers": (3,)}, r"dense_layers must be"),
        ({"tail_blocks": 0}, r"tail_blocks must be at least 1, got 0"),
        ({"sink_blocks": -1}, r"sink_blocks must not be negative, got -1"),
        ({"block_size": 0}, r"block_size must be positive, got 0"),
    ],
)
def test_contradictions_are_refused(changes, message):
    with pytest.raises(ValueError, match=r"^sals\.calibration: " + message):
        make(**changes)


def test_load_refuses_other_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        Calibration.load(tmp_path / "absent")
    text = tmp_path / "text"
    text.write_text("not tensors")
    with pytest.raises(ValueError, match="must be a safetensors file"):
        Calibration.load(text)
    plain = tmp_path / "plain.safetensors"
    save_file({"x": torch.zeros(1)}, plain)
    with pytest.raises(ValueError, match="must hold a sals-calibration, got None"):
        Calibration.load(plain)
    metadata = {"format": "sals-calibration", "version": "99"}
    save_file({"x": torch.zeros(1)}, plain, metadata=metadata)
    with pytest.raises(ValueError, match="must have version 1, got 99"):
        Calibration.load(plain)
    metadata = {"format": "sals-calibration", "version": "1", "calibration": "{}"}
    save_file({"x": torch.zeros(1)}, plain, metadata=metadata)
    with pytest.raises(ValueError, match="is damaged"):
        Calibration.load(plain)
