# SPDX-License-Identifier: Apache-2.0
"""The result of a calibration: projections, the choices made with them, and what they were chosen from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from sals._contract import MAX_RANK, RANK_MULTIPLE

FORMAT = "sals-calibration"
VERSION = 1


@dataclasses.dataclass(frozen=True)
class ModelFingerprint:
    """The facts about a model that a calibration depends on.

    Two models with equal fingerprints accept each other's tensors; whether the projections also suit the
    other model's weights is something only a new calibration can tell.
    """

    model_type: str
    n_layers: int
    n_q: int
    n_kv: int
    head_dim: int
    hidden_size: int
    name: str = dataclasses.field(default="", compare=False)
    """What the configuration calls the model, for people; equal models may be stored under other names."""

    @classmethod
    def of(cls, config: Any) -> ModelFingerprint:
        """Read the fingerprint from a transformers configuration."""
        text = config.get_text_config() if hasattr(config, "get_text_config") else config
        n_q = text.num_attention_heads
        return cls(
            model_type=str(text.model_type),
            n_layers=int(text.num_hidden_layers),
            n_q=int(n_q),
            n_kv=int(getattr(text, "num_key_value_heads", None) or n_q),
            head_dim=int(getattr(text, "head_dim", None) or text.hidden_size // n_q),
            hidden_size=int(text.hidden_size),
            name=Path(getattr(config, "name_or_path", "") or str(text.model_type)).name,
        )


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Projections to the index space, one per layer, and the settings they were measured with.

    Parameters
    ----------
    query_projection, key_projection : Tensor[float32], shape (n_layers, n_idx, in_dim, rank)
        Entry ``[layer]`` is what ``sals.project_query`` and ``sals.write_cache`` take as ``projection``.
        ``in_dim`` is ``head_dim`` with one index head per KV head and ``n_kv * head_dim`` with a joint index
        (``n_idx == 1``). `calibrate` projects both sides with one tensor, which a file then holds once.
    rotated : bool
        The index is made from queries and keys after RoPE (True) or before it (False).
    block_size, sink_blocks, tail_blocks : int
        Selection settings that the measurements used; a block is ``block_size`` tokens.
    dense_layers : tuple of int
        Layers to attend densely, ascending.
    model : ModelFingerprint
        The model that was calibrated.
    report : tuple of dict
        One entry for every variant tried, the chosen one marked ``"chosen": True``.
    settings : dict
        How the calibration was run (budgets, sizes, versions) and what it tried; JSON values only.

    Raises
    ------
    ValueError
        If shapes, dtypes or settings contradict each other or the model.
    """

    query_projection: torch.Tensor
    key_projection: torch.Tensor
    rotated: bool
    block_size: int
    sink_blocks: int
    tail_blocks: int
    dense_layers: tuple[int, ...]
    model: ModelFingerprint
    report: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that shapes, dtypes and settings agree."""
        shape = tuple(self.query_projection.shape)
        _require(
            len(shape) == 4 and shape[0] == self.model.n_layers,
            f"query_projection must have shape [n_layers, n_idx, in_dim, rank] with n_layers = "
            f"{self.model.n_layers}, got {list(shape)}",
        )
        _require(
            tuple(self.key_projection.shape) == shape,
            f"key_projection must have the shape of query_projection = {list(shape)}, "
            f"got {list(self.key_projection.shape)}",
        )
        for name in ("query_projection", "key_projection"):
            dtype = getattr(self, name).dtype
            _require(dtype == torch.float32, f"{name} must be float32, got {dtype}")
        per_head = (self.model.n_kv, self.model.head_dim)
        joint = (1, self.model.n_kv * self.model.head_dim)
        _require(
            (self.n_idx, self.in_dim) in (per_head, joint),
            f"[n_idx, in_dim] must be {list(per_head)} (per head) or {list(joint)} (joint) for this model, "
            f"got {[self.n_idx, self.in_dim]}",
        )
        _require(
            self.rank % RANK_MULTIPLE == 0 and 0 < self.rank <= min(self.in_dim, MAX_RANK),
            f"rank must be a multiple of {RANK_MULTIPLE} and at most {min(self.in_dim, MAX_RANK)}, "
            f"got {self.rank}",
        )
        _require(self.block_size > 0, f"block_size must be positive, got {self.block_size}")
        _require(self.sink_blocks >= 0, f"sink_blocks must not be negative, got {self.sink_blocks}")
        _require(self.tail_blocks >= 1, f"tail_blocks must be at least 1, got {self.tail_blocks}")
        layers = list(self.dense_layers)
        _require(
            layers == sorted(set(layers)) and all(0 <= layer < self.model.n_layers for layer in layers),
            f"dense_layers must be ascending, distinct and in [0, {self.model.n_layers}), got {layers}",
        )

    @property
    def n_idx(self) -> int:
        """Number of index heads: ``n_kv``, or 1 for a joint index."""
        return self.query_projection.shape[1]

    @property
    def in_dim(self) -> int:
        """Width of what is projected: ``head_dim``, or ``n_kv * head_dim`` for a joint index."""
        return self.query_projection.shape[2]

    @property
    def rank(self) -> int:
        """Width of the index per index head."""
        return self.query_projection.shape[3]

    def validate_for(self, config: Any) -> None:
        """Check that this calibration was made for the model of a transformers configuration.

        Raises
        ------
        ValueError
            Names every fact that differs.
        """
        other = ModelFingerprint.of(config)
        differing = [
            f"{field.name} {getattr(self.model, field.name)!r} (this model: {getattr(other, field.name)!r})"
            for field in dataclasses.fields(ModelFingerprint)
            if field.compare and getattr(self.model, field.name) != getattr(other, field.name)
        ]
        _require(
            not differing,
            f"calibration was made for another model: {', '.join(differing)}. Calibrate this model",
        )

    def save(self, path: str | Path) -> None:
        """Write everything to one safetensors file; settings and report are its JSON metadata."""
        tensors = {"key_projection": self.key_projection.contiguous()}
        if not torch.equal(self.query_projection, self.key_projection):
            tensors["query_projection"] = self.query_projection.contiguous()
        facts = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("query_projection", "key_projection", "model")
        }
        facts["model"] = dataclasses.asdict(self.model)
        metadata = {"format": FORMAT, "version": str(VERSION), "calibration": json.dumps(facts)}
        save_file(tensors, str(path), metadata=metadata)

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a file that :meth:`save` wrote.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not a calibration, of another version, or damaged.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"sals.calibration: no such file: {path}")
        try:
            with safe_open(str(path), framework="pt") as file:
                metadata = file.metadata() or {}
                names = file.keys()
                tensors = {name: file.get_tensor(name) for name in names}
        except SafetensorError as error:
            raise ValueError(f"sals.calibration: {path} must be a safetensors file: {error}") from error
        _require(
            metadata.get("format") == FORMAT, f"{path} must hold a {FORMAT}, got {metadata.get('format')!r}"
        )
        version = metadata.get("version")
        _require(version == str(VERSION), f"{path} must have version {VERSION}, got {version}")
        try:
            facts = json.loads(metadata["calibration"])
            facts["model"] = ModelFingerprint(**facts["model"])
            facts["dense_layers"] = tuple(facts["dense_layers"])
            facts["report"] = tuple(facts["report"])
            key_projection = tensors["key_projection"]
            query_projection = tensors.get("query_projection", key_projection)
            return cls(query_projection=query_projection, key_projection=key_projection, **facts)
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"sals.calibration: {path} is damaged: {error!r}") from error


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(f"sals.calibration: {message}")
