# SPDX-License-Identifier: Apache-2.0
"""Adapters to the frameworks that run the models."""
