# SPDX-License-Identifier: Apache-2.0
"""What attaching does to a model, whatever the method, and how it is undone."""

from __future__ import annotations

import abc
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    DynamicCache,
    GenerationConfig,
    PreTrainedModel,
)

from .attention import AttachedLayer, attached_layers, sals_attention, sals_mask
from .columns import ColumnCache
from .modules import attention_modules, plain_source
from .timer import NO_TIMER, StageTimer

IMPLEMENTATION = "sals"

_Self = TypeVar("_Self", bound="Attachment")

# The second is the old name, which transformers accepts until 5.40.
_CACHE_ARGUMENTS = ("cache", "past_key_values")


class Attachment(abc.ABC):
    """A model that decodes with a method of ours until :meth:`remove`; also a context manager.

    Made by :func:`attach`. One model is attached at most once, and serves one thread at a time.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.timer: StageTimer = NO_TIMER
        self._modules = attention_modules(model)
        self._undo = contextlib.ExitStack()

    @abc.abstractmethod
    def new_cache(self, max_batch: int, max_len: int) -> ColumnCache:
        """Make a cache for this model."""

    @abc.abstractmethod
    def _attached_layer(self, index: int) -> AttachedLayer:
        """Make what the attention function knows about a layer."""

    @abc.abstractmethod
    def _check_cache(self, cache: ColumnCache) -> None:
        """Refuse a cache of another attachment."""

    def _plain_sides(self) -> tuple[str, ...]:
        """Tensors to keep from before RoPE: "q", "k"."""
        return ()

    def _arguments(
        self, layer: AttachedLayer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Change the arguments of an attention module; None leaves them."""
        return None

    def on_remove(self, callback: Callable[[], object]) -> None:
        """Call something when the attachment is removed."""
        self._undo.callback(callback)

    def remove(self) -> None:
        """Give the model back as it was; does nothing the second time."""
        self._undo.close()

    def __enter__(self: _Self) -> _Self:
        """Return the attachment."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self.remove()

    @contextlib.contextmanager
    def timed(self) -> Iterator[StageTimer]:
        """Record the stages of every forward pass with a SalsCache inside a ``with`` block."""
        timer = StageTimer()
        begins: list[tuple[float, float]] = []

        def begin(*_: Any) -> None:
            begins.append((time.perf_counter(), timer.staged()))

        def end(*_: Any) -> None:
            began, staged = begins.pop()
            timer.finish_pass(time.perf_counter() - began, staged)

        before, self.timer = self.timer, timer
        hooks = (self.model.register_forward_pre_hook(begin), self.model.register_forward_hook(end))
        try:
            yield timer
        finally:
            self.timer = before
            for hook in hooks:
                hook.remove()

    def install(self) -> None:
        """Install the hooks, the attention implementation and generate()'s choice of a cache."""
        AttentionInterface.register(IMPLEMENTATION, sals_attention)
        AttentionMaskInterface.register(IMPLEMENTATION, sals_mask)
        with contextlib.ExitStack() as undo:
            for index, module in enumerate(self._modules):
                self._hook_layer(index, module, undo)
            self._hook_generate(undo)
            undo.callback(self.model.set_attn_implementation, self.model.config._attn_implementation)
            self.model.set_attn_implementation(IMPLEMENTATION)
            self._undo = undo.pop_all()

    def _hook_layer(self, index: int, module: nn.Module, undo: contextlib.ExitStack) -> None:
        layer = self._attached_layer(index)
        attached_layers[module] = layer
        undo.callback(attached_layers.pop, module, None)
        undo.callback(module.register_forward_pre_hook(self._begin_layer, with_kwargs=True).remove)
        undo.callback(module.register_forward_hook(_end_layer, always_call=True).remove)
        keepers = {"q": _keep_query, "k": _keep_key}
        for side in self._plain_sides():
            hook = plain_source(module, side).register_forward_hook(keepers[side](layer))
            undo.callback(hook.remove)

    def _begin_layer(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """Tell the layer's caches which columns this pass brings, before the layer writes them."""
        cache = next((kwargs[name] for name in _CACHE_ARGUMENTS if kwargs.get(name) is not None), None)
        if not isinstance(cache, ColumnCache):
            return None
        self._check_cache(cache)
        mask = kwargs.get("attention_mask")
        if mask is not None and mask.ndim != 2:
            raise ValueError(
                f"sals.attention: attention_mask must have shape [batch, columns], got {list(mask.shape)}"
            )
        hidden = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        batch, s_q = hidden.shape[:2]
        layer = attached_layers[module]
        layer.cached = cache.begin_layer(layer.layer_idx, batch, s_q, mask, self.timer)
        return self._arguments(layer, args, kwargs)

    def _hook_generate(self, undo: contextlib.ExitStack) -> None:
        """Let generate() make a cache of ours where it would have made a DynamicCache."""
        name = "_prepare_cache_for_generation"
        prepare = getattr(self.model, name, None)
        if prepare is None:
            return

        def prepare_cache(
            config: GenerationConfig,
            model_kwargs: dict[str, Any],
            mode: Any,
            batch_size: int,
            max_cache_length: int,
        ) -> None:
            given = [model_kwargs.get(argument) for argument in _CACHE_ARGUMENTS]
            prepare(config, model_kwargs, mode, batch_size, max_cache_length)
            sequences = max(config.num_beams or 1, config.num_return_sequences or 1)
            max_len = max_cache_length + 1 + _most_guesses(config)
            for argument, before in zip(_CACHE_ARGUMENTS, given, strict=True):
                if before is None and type(model_kwargs.get(argument)) is DynamicCache:
                    model_kwargs[argument] = self.new_cache(batch_size * sequences, max_len)

        setattr(self.model, name, prepare_cache)
        undo.callback(delattr, self.model, name)


def _most_guesses(config: GenerationConfig) -> int:
    """Columns that assisted generation may write beyond the longest result, before it crops them."""
    guesses = (getattr(config, name, None) for name in ("prompt_lookup_num_tokens", "num_assistant_tokens"))
    return max(count or 0 for count in guesses)


def _keep_query(layer: AttachedLayer) -> Callable[[nn.Module, Any, Tensor], None]:
    def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        layer.plain_query = output

    return hook


def _keep_key(layer: AttachedLayer) -> Callable[[nn.Module, Any, Tensor], None]:
    def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        if layer.cached is not None:
            layer.cached.plain_key = output

    return hook


def _end_layer(module: nn.Module, *_: Any) -> None:
    """Let go of what belonged to this pass."""
    layer = attached_layers[module]
    if layer.cached is not None:
        layer.cached.plain_key = layer.cached.step = None
    layer.cached = layer.plain_query = None
