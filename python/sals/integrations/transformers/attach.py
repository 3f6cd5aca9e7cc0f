# SPDX-License-Identifier: Apache-2.0
"""Give a transformers model our attention and cache, and take them away again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    DynamicCache,
    GenerationConfig,
    PreTrainedModel,
)

from sals._contract import MAX_SELECTED_BLOCKS
from sals.calibration import Calibration
from sals.selection import Keep, Selection

from .attention import AttachedLayer, attached_layers, sals_attention, sals_mask
from .cache import DEFAULT_LAYOUT, DEFAULT_PAGE_SIZE, SalsCache, check_pages
from .modules import attention_modules, check_supported, plain_source
from .recall import Recall
from .settings import DEFAULT_MAX_DECODE_TOKENS, DEFAULT_MIN_DENSE_TOKENS, DecodeSettings
from .timer import NO_TIMER, StageTimer

IMPLEMENTATION = "sals"

# The second is the old name, which transformers accepts until 5.40.
_CACHE_ARGUMENTS = ("cache", "past_key_values")


class Attachment:
    """A model that decodes with sparse attention until :meth:`remove`; also a context manager.

    Made by :func:`attach`. One model is attached at most once, and serves one thread at a time.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        calibration: Calibration,
        settings: DecodeSettings,
        page_size: int,
        layout: str,
    ) -> None:
        self.model = model
        self.calibration = calibration
        self.settings = settings
        self.timer: StageTimer = NO_TIMER
        self._page_size = page_size
        self._layout = layout
        self._modules = attention_modules(model)
        self._undo = contextlib.ExitStack()

    def new_cache(self, max_batch: int, max_len: int) -> SalsCache:
        """Make a cache for this model; see :class:`SalsCache`."""
        return SalsCache(
            self.model.config,
            max_batch,
            max_len,
            self.calibration,
            page_size=self._page_size,
            layout=self._layout,
            device=self.model.device,
        )

    def remove(self) -> None:
        """Give the model back as it was; does nothing the second time."""
        self._undo.close()

    def __enter__(self) -> Attachment:
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

    @contextlib.contextmanager
    def measured(self) -> Iterator[Recall]:
        """Record, inside a ``with`` block, how much of the attention the chosen blocks hold; slow."""
        recall = Recall()
        layers = [attached_layers[module] for module in self._modules]
        for layer in layers:
            layer.recall = recall
        try:
            yield recall
        finally:
            for layer in layers:
                layer.recall = None

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
            _attachments[self.model] = self
            undo.callback(_attachments.pop, self.model, None)
            self._undo = undo.pop_all()

    def _hook_layer(self, index: int, module: nn.Module, undo: contextlib.ExitStack) -> None:
        projection = self.calibration.query_projection[index].to(self.model.device).contiguous()
        layer = AttachedLayer(
            layer_idx=index,
            settings=self.settings,
            query_projection=projection,
            rotated=self.calibration.rotated,
            always_dense=index in self.calibration.dense_layers,
        )
        attached_layers[module] = layer
        undo.callback(attached_layers.pop, module, None)
        undo.callback(module.register_forward_pre_hook(self._begin_layer, with_kwargs=True).remove)
        undo.callback(module.register_forward_hook(_end_layer, always_call=True).remove)
        if not self.calibration.rotated:
            for side, keep in (("q", _keep_query), ("k", _keep_key)):
                hook = plain_source(module, side).register_forward_hook(keep(layer))
                undo.callback(hook.remove)

    def _begin_layer(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Tell the layer's caches which columns this pass brings, before the layer writes them."""
        cache = next((kwargs[name] for name in _CACHE_ARGUMENTS if kwargs.get(name) is not None), None)
        if not isinstance(cache, SalsCache):
            return
        if cache.calibration is not self.calibration:
            raise ValueError(
                "sals.attention: the cache must come from this attachment, got one with another calibration. "
                "Use handle.new_cache(max_batch, max_len)"
            )
        mask = kwargs.get("attention_mask")
        if mask is not None and mask.ndim != 2:
            raise ValueError(
                f"sals.attention: attention_mask must have shape [batch, columns], got {list(mask.shape)}"
            )
        hidden = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        batch, s_q = hidden.shape[:2]
        layer = attached_layers[module]
        layer.cached = cache.begin_layer(layer.layer_idx, batch, s_q, mask, self.timer)

    def _hook_generate(self, undo: contextlib.ExitStack) -> None:
        """Let generate() make a SalsCache where it would have made a DynamicCache."""
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


_attachments: WeakKeyDictionary[PreTrainedModel, Attachment] = WeakKeyDictionary()


def attach(
    model: PreTrainedModel,
    calibration: Calibration,
    *,
    keep: Keep = "1/4",
    coverage: float | None = None,
    sink_blocks: int | None = None,
    tail_blocks: int | None = None,
    min_dense_tokens: int = DEFAULT_MIN_DENSE_TOKENS,
    max_decode_tokens: int = DEFAULT_MAX_DECODE_TOKENS,
    page_size: int = DEFAULT_PAGE_SIZE,
    layout: str = DEFAULT_LAYOUT,
) -> Attachment:
    """Let a model decode with sparse attention over a quantised cache.

    A prefill (the first pass of a request) attends densely to its own keys and values in full precision.
    Every later pass reads the int8 cache: it attends to the chosen blocks, per query token, or to all blocks
    where the context is short, the pass is a long piece of a prompt, or the calibration leaves the layer
    dense. ``model.generate()`` makes a :class:`SalsCache` itself unless it is given one.

    Parameters
    ----------
    model : PreTrainedModel
        A decoder with full causal attention, in eval mode.
    calibration : Calibration
        Calibration of this model.
    keep : int, float, str or Fraction
        Share of the candidate blocks to keep, exact: see `sals.selection.keep_fraction`.
    coverage : float, optional
        Cover this share of the attention mass instead (top-p).
    sink_blocks, tail_blocks : int, optional
        Blocks always kept; the calibration's by default.
    min_dense_tokens : int
        Contexts with fewer tokens are decoded densely. The longest request of a batch decides for the batch.
    max_decode_tokens : int
        A pass of more columns over a cache is a piece of a prompt and attended densely.
    page_size : int
        Tokens of a cache page.
    layout : str
        Layout of the caches.

    Returns
    -------
    Attachment
        ``handle.remove()`` or leaving a ``with`` block restores the model.

    Raises
    ------
    ValueError
        If the model is not supported, attached already, or not the calibrated one; if a setting is wrong.
    """
    if model in _attachments:
        raise ValueError("sals.attach: model must not be attached already. Call detach(model) first")
    calibration.validate_for(model.config)
    if model.training:
        raise ValueError("sals.attach: model must be in eval mode, got training mode. Call model.eval()")
    selection = Selection(
        keep=keep,
        coverage=coverage or 0.0,
        block_size=calibration.block_size,
        sink_blocks=calibration.sink_blocks if sink_blocks is None else sink_blocks,
        tail_blocks=calibration.tail_blocks if tail_blocks is None else tail_blocks,
        max_blocks=MAX_SELECTED_BLOCKS,
    )
    settings = DecodeSettings(selection, min_dense_tokens, max_decode_tokens)
    check_pages(page_size, layout, calibration)
    attachment = Attachment(model, calibration, settings, page_size, layout)
    check_supported(model, attention_modules(model))
    attachment.install()
    return attachment


def detach(model: PreTrainedModel) -> None:
    """Give an attached model back as it was.

    Raises
    ------
    ValueError
        If the model is not attached.
    """
    if model not in _attachments:
        raise ValueError("sals.detach: model must be attached, got one that is not")
    _attachments[model].remove()


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
