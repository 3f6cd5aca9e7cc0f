# SPDX-License-Identifier: Apache-2.0
"""Vector instructions on a window of UB, and what their lanes are, written from the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sals import simulator

WINDOW = 32768  # bytes of UB that are looked at
BLOCK = 32
REPEAT = 256
FORMS = {"count": 0, "lanes": 1, "bits": 2, "registers": 3}
TYPES = {"float32": 0, "float16": 1, "int32": 2, "int16": 3, "uint32": 4, "uint16": 5, "bfloat16": 6}


@dataclass(frozen=True)
class Call:
    """The arguments of one instruction. Places are bytes, strides datablocks."""

    op: int = 0
    type: str = "float32"
    dst: int = 0
    src0: int = 8192
    src1: int = 16384
    form: str = "count"
    count: int = 0  # elements, or lanes per repeat
    mask: tuple[int, int] = (0, 0)
    repeats: int = 1
    blocks: tuple[int, int, int] = (1, 1, 1)  # block strides of dst, src0, src1
    strides: tuple[int, int, int] = (8, 8, 8)  # repeat strides
    counter: bool = False
    extra: tuple[int, ...] = field(default=())

    def parameters(self) -> np.ndarray:
        words = [word for value in self.mask for word in (value & 0xFFFFFFFF, value >> 32)]
        values = [self.op, TYPES[self.type], self.dst, self.src0, self.src1, FORMS[self.form], self.count]
        values += [*words, self.repeats, *self.blocks, *self.strides, int(self.counter), *self.extra]
        return np.array(values + [0] * 8, np.int64).astype(np.uint32).view(np.int32)

    def active(self, lanes: int) -> Iterator[tuple[int, int]]:
        """Active lanes as (repeat, lane) of an instruction with `lanes` lanes per repeat, in order."""
        if self.form == "count" or self.counter:
            total = self.count if self.form in ("count", "registers") else self.mask[0]
            yield from ((i // lanes, i % lanes) for i in range(total))
            return
        yield from ((r, lane) for r in range(self.repeats) for lane in range(lanes) if self._takes(lane))

    def _takes(self, lane: int) -> bool:
        if self.form == "lanes":
            return lane < self.count
        return bool(self.mask[lane // 64] >> (lane % 64) & 1)


def address(begin: int, size: int, block: int, stride: int, repeat: int, lane: int) -> int:
    """Byte at which a lane of an operand stands."""
    per_block = BLOCK // size
    return begin + (repeat * stride + lane // per_block * block) * BLOCK + lane % per_block * size


def random_image(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, WINDOW, dtype=np.uint8)


def image_of(values: np.ndarray, begin: int, image: np.ndarray) -> np.ndarray:
    """Put values into an image."""
    data = np.ascontiguousarray(values).view(np.uint8).ravel()
    image[begin : begin + data.size] = data
    return image


def view(image: np.ndarray, begin: int, dtype: type, count: int) -> np.ndarray:
    return image[begin : begin + count * np.dtype(dtype).itemsize].view(dtype)


def run(library, entry, image, call, **options):
    """Launch an entry on an image; returns the window afterwards and the result."""
    y = np.zeros_like(image)
    arguments = {"image": image, "y": simulator.output(y), "params": call.parameters()}
    return y, simulator.launch(library, entry, arguments, kind="vector", cores=1, **options)


def run_clean(library, entry, image, call, **options):
    y, result = run(library, entry, image, call, **options)
    assert not result.findings, "\n".join(map(str, result.findings))
    return y


def findings(library, entry, image, call, check="memcheck"):
    """The texts of the findings, which must all be of one check."""
    _, result = run(library, entry, image, call)
    assert {finding.check for finding in result.findings} <= {check}
    return [finding.text for finding in result.findings]
