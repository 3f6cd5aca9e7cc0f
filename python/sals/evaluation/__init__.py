# SPDX-License-Identifier: Apache-2.0
"""The comparison of all methods on a real model: ``sals eval``."""
