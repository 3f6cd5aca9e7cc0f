# SPDX-License-Identifier: Apache-2.0
"""Sparse decoding for Hugging Face transformers 5.x models.

>>> from sals.integrations.transformers import attach  # doctest: +SKIP
>>> with attach(model, calibration, keep="1/4"):  # doctest: +SKIP
...     model.generate(**inputs, max_new_tokens=100)
"""

from .attach import attach, detach
from .attachment import Attachment
from .cache import SalsCache
from .indexed import IndexAttachment
from .kept import KeptCache
from .kept_attachment import KeptAttachment
from .recall import Recall
from .timer import STAGES, StageTimer

__all__ = [
    "STAGES",
    "Attachment",
    "IndexAttachment",
    "KeptAttachment",
    "KeptCache",
    "Recall",
    "SalsCache",
    "StageTimer",
    "attach",
    "detach",
]
