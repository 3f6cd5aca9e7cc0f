# SPDX-License-Identifier: Apache-2.0
"""The main job: a real model over a long text, dense and sparse, side by side."""
