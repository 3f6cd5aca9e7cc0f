# SPDX-License-Identifier: Apache-2.0
"""Give a transformers model our attention and cache, and take them away again."""

from __future__ import annotations

from typing import Any, overload
from weakref import WeakKeyDictionary

from transformers import PreTrainedModel

from sals._contract import MAX_SELECTED_BLOCKS
from sals.calibration import Calibration
from sals.methods import Method, make_method
from sals.methods.interface import BlockSelector, Evictor, Selector
from sals.methods.sketch import Sketch
from sals.selection import Keep, Selection

from .attachment import Attachment
from .cache import DEFAULT_LAYOUT, DEFAULT_PAGE_SIZE, check_pages
from .indexed import IndexAttachment
from .kept_attachment import KeptAttachment
from .modules import attention_modules, check_supported
from .settings import DEFAULT_MAX_DECODE_TOKENS, DEFAULT_MIN_DENSE_TOKENS, DecodeSettings

_attachments: WeakKeyDictionary[PreTrainedModel, Attachment] = WeakKeyDictionary()


@overload
def attach(
    model: PreTrainedModel,
    calibration: Calibration,
    *,
    keep: Keep | None = None,
    coverage: float | None = None,
    **options: Any,
) -> IndexAttachment: ...


@overload
def attach(
    model: PreTrainedModel,
    calibration: Calibration | None = None,
    *,
    method: str | Method,
    budget: int | None = None,
    coverage: float | None = None,
    **options: Any,
) -> Attachment: ...


def attach(
    model: PreTrainedModel,
    calibration: Calibration | None = None,
    *,
    method: str | Method = "sals",
    budget: int | None = None,
    keep: Keep | None = None,
    coverage: float | None = None,
    sink_blocks: int | None = None,
    tail_blocks: int | None = None,
    min_dense_tokens: int | None = None,
    max_decode_tokens: int | None = None,
    page_size: int | None = None,
    layout: str | None = None,
    **settings: Any,
) -> Attachment:
    """Let a model decode over an int8 cache that is read, or kept, in part.

    A prefill (the first pass of a request) attends densely to its own keys and values in full precision.
    Every later pass reads the int8 cache, as the method chooses. ``model.generate()`` makes the cache itself
    unless it is given one.

    Parameters
    ----------
    model : PreTrainedModel
        A decoder with full causal attention, in eval mode.
    calibration : Calibration, optional
        Calibration of this model. SALS needs one; sketch takes one with a fitted projection.
    method : str or Method
        A name of `sals.methods.METHODS`, or a method with its settings.
    budget : int, optional
        Tokens that a query reads (selectors) or a KV head keeps (evictors).
    keep : int, float, str or Fraction, optional
        SALS without a budget: share of the candidate blocks to keep, exact, see
        `sals.selection.keep_fraction`; a quarter by default.
    coverage : float, optional
        Cover this share of the attention mass instead (top-p); selectors and stca.
    sink_blocks, tail_blocks : int, optional
        SALS without a budget: blocks always kept; the calibration's by default.
    min_dense_tokens : int, optional
        SALS and sketch: contexts with fewer tokens are decoded densely, 2,048 by default. The longest request
        of a batch decides for the batch.
    max_decode_tokens : int, optional
        SALS and sketch: a pass of more columns (64 by default) over a cache is a piece of a prompt and
        attended densely.
    page_size : int, optional
        SALS and sketch: tokens of a cache page.
    layout : str, optional
        SALS and sketch: layout of the caches.
    **settings
        The method's other fields, by name.

    Returns
    -------
    Attachment
        ``handle.remove()`` or leaving a ``with`` block restores the model.

    Raises
    ------
    ValueError
        If the model is not supported, attached already, or not the calibrated one; if a setting is wrong or
        does not go with the method.
    """
    if model in _attachments:
        raise ValueError("sals.attach: model must not be attached already. Call detach(model) first")
    if model.training:
        raise ValueError("sals.attach: model must be in eval mode, got training mode. Call model.eval()")
    shares: dict[str, Any] = {"keep": keep, "sink_blocks": sink_blocks, "tail_blocks": tail_blocks}
    runtime: dict[str, Any] = {
        "min_dense_tokens": min_dense_tokens,
        "max_decode_tokens": max_decode_tokens,
        "page_size": page_size,
        "layout": layout,
    }
    of_method = settings | {"budget": budget, "coverage": coverage}
    if method == "sals" and budget is None:
        del of_method["coverage"]
    chosen = _method(method, _given(of_method), calibration)
    if isinstance(chosen, BlockSelector | Evictor):
        _refuse(chosen, "sals and sketch", {"calibration": calibration, **shares, **runtime})
        check_supported(model, attention_modules(model))
        attachment: Attachment = KeptAttachment(model, chosen)
    else:
        assert isinstance(chosen, Selector)
        if isinstance(chosen, Sketch) or chosen.budget is not None or not isinstance(method, str):
            _refuse(chosen, "sals without a budget", shares)
            selection = chosen.selection()
        else:
            selection = None
        index = _index(model, calibration, chosen)
        selection = selection or _shared_selection(index, coverage, **shares)
        attachment = _indexed(model, index, selection, **runtime)
    attachment.install()
    _attachments[model] = attachment
    attachment.on_remove(lambda: _attachments.pop(model, None))
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


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _method(method: str | Method, settings: dict[str, Any], calibration: Calibration | None) -> Method:
    """Make the method, or take it as it is."""
    if isinstance(method, str):
        if method == "sals" and calibration is not None and "budget" in settings:
            settings = {"block_size": calibration.block_size, **settings}
        return make_method(method, **settings)
    if not isinstance(method, Method):
        raise ValueError(f"sals.attach: method must be a name or a Method, got {method!r}")
    if settings:
        raise ValueError(
            "sals.attach: settings must be fields of the method that is given, "
            f"got {', '.join(settings)} beside it"
        )
    return method


def _refuse(method: Method, owner: str, values: dict[str, Any]) -> None:
    """Refuse arguments that only other methods understand."""
    wrong = list(_given(values))
    if wrong:
        raise ValueError(f"sals.attach: {', '.join(wrong)} must go with {owner}, got them with {method.name}")


def _index(model: PreTrainedModel, calibration: Calibration | None, method: Selector) -> Calibration:
    """Return the index of an index method, checked against the model."""
    if calibration is None:
        if not isinstance(method, Sketch):
            raise ValueError("sals.attach: calibration must be given for sals, got none. Run sals.calibrate")
        calibration = method.index(model.config)
    calibration.validate_for(model.config)
    return calibration


def _shared_selection(
    calibration: Calibration,
    coverage: float | None,
    keep: Keep | None,
    sink_blocks: int | None,
    tail_blocks: int | None,
) -> Selection:
    """Return the selection of SALS by a share of the candidate blocks."""
    return Selection(
        keep="1/4" if keep is None else keep,
        coverage=coverage or 0.0,
        block_size=calibration.block_size,
        sink_blocks=calibration.sink_blocks if sink_blocks is None else sink_blocks,
        tail_blocks=calibration.tail_blocks if tail_blocks is None else tail_blocks,
        max_blocks=MAX_SELECTED_BLOCKS,
    )


def _indexed(
    model: PreTrainedModel,
    calibration: Calibration,
    selection: Selection,
    min_dense_tokens: int | None,
    max_decode_tokens: int | None,
    page_size: int | None,
    layout: str | None,
) -> IndexAttachment:
    """Make the attachment of an index method."""
    if selection.block_size != calibration.block_size:
        raise ValueError(
            f"sals.attach: block_size must be the calibration's = {calibration.block_size}, "
            f"got {selection.block_size}"
        )
    settings = DecodeSettings(
        selection,
        DEFAULT_MIN_DENSE_TOKENS if min_dense_tokens is None else min_dense_tokens,
        DEFAULT_MAX_DECODE_TOKENS if max_decode_tokens is None else max_decode_tokens,
    )
    page_size = DEFAULT_PAGE_SIZE if page_size is None else page_size
    layout = DEFAULT_LAYOUT if layout is None else layout
    check_pages(page_size, layout, calibration)
    attachment = IndexAttachment(model, calibration, settings, page_size, layout)
    check_supported(model, attention_modules(model))
    return attachment
