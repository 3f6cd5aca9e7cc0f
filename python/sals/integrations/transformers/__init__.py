# SPDX-License-Identifier: Apache-2.0
"""Sparse decoding for Hugging Face transformers 5.x models.

>>> from sals.integrations.transformers import attach  # doctest: +SKIP
>>> with attach(model, calibration, keep="1/4"):  # doctest: +SKIP
...     model.generate(**inputs, max_new_tokens=100)
"""

from .attach import Attachment, attach, detach
from .cache import SalsCache
from .recall import Recall
from .timer import STAGES, StageTimer

__all__ = ["STAGES", "Attachment", "Recall", "SalsCache", "StageTimer", "attach", "detach"]
