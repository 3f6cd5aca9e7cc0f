# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

pytest.importorskip("transformers", reason="the extra `demo` installs transformers")
