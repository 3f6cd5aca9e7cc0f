# SPDX-License-Identifier: Apache-2.0
"""How far a run is from the least time that the bytes it must move can take."""

from __future__ import annotations

from dataclasses import dataclass

from sals import _sim
from sals.simulator.result import Result


@dataclass(frozen=True)
class Roofline:
    """Modelled time against its floor.

    Attributes
    ----------
    compulsory_bytes : float
        Bytes that must be read from or written to memory once.
    hbm_bytes : float
        Bytes that were.
    exchanged_bytes : float
        Bytes that the cores exchanged through the workspace, in the L2: written and read.
    exchange : float
        What the exchange takes when no row is cut; 0 if that is not known.
    floors : dict of str to float
        The least cycles by resource; the largest binds.
    cycles : float
        Modelled cycles of the run.
    """

    compulsory_bytes: float
    hbm_bytes: float
    floors: dict[str, float]
    cycles: float
    exchanged_bytes: float = 0.0
    exchange: float = 0.0

    @property
    def bound(self) -> str:
        """The binding resource."""
        return max(self.floors, key=self.floors.__getitem__)

    @property
    def floor(self) -> float:
        """The least cycles that the compulsory bytes take."""
        return self.floors[self.bound]

    @property
    def efficiency(self) -> float:
        """Floor over modelled time."""
        return self.floor / self.cycles if self.cycles else 0.0

    @property
    def traffic(self) -> float:
        """Bytes moved over compulsory bytes."""
        return self.hbm_bytes / self.compulsory_bytes if self.compulsory_bytes else 0.0

    def __str__(self) -> str:
        """Show bytes, floor and efficiency."""
        lines = [
            f"must move {self.compulsory_bytes:,.0f} B, moved {self.hbm_bytes:,.0f} B: {self.traffic:.3f} x",
            f"floor {self.floor:,.0f} cycles ({self.bound}), modelled {self.cycles:,.0f}: "
            f"{self.efficiency:.0%} of the roofline",
        ]
        if self.exchange:
            lines.insert(
                1,
                f"must exchange {self.exchange:,.0f} B in the L2, exchanged {self.exchanged_bytes:,.0f} B: "
                f"{self.exchanged_bytes / self.exchange:.3f} x",
            )
        return "\n".join(lines)


def roofline(result: Result, compulsory_bytes: float, cube_bytes: float, cores: int) -> Roofline:
    """Compare a run with its floor.

    Parameters
    ----------
    result : Result
        In the order of modelled time (seed 0).
    compulsory_bytes : float
        What all cores together must move.
    cube_bytes : float
        The part that the cube cores must read.
    cores : int
        Cube cores.
    """
    floors = floors_of(result, compulsory_bytes, cube_bytes / (cores * _sim.HBM_READ_RATE))
    return Roofline(compulsory_bytes, result.counters.hbm_bytes, floors, result.cycles)


def floors_of(result: Result, compulsory_bytes: float, cube_cycles: float) -> dict[str, float]:
    """Return the least cycles that memory needs, and that every cube core needs to read its share."""
    return {
        "memory bandwidth": compulsory_bytes / _sim.HBM_BYTES_PER_NS * result.clock_ghz,
        "MTE2 of the cube cores": cube_cycles,
    }
