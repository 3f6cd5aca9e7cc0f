# SPDX-License-Identifier: Apache-2.0
"""Sparse attention operators for long-context LLM decoding."""

__version__ = "0.1.0"
