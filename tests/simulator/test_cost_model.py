# SPDX-License-Identifier: Apache-2.0
"""Bytes, shares of bandwidth and prices, against references written from their definitions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from sals import simulator
from sals.simulator.arguments import aligned_empty
from simulator import calibration

HERE = Path(__file__).parent
SIMULATOR = HERE.parents[1] / "simulator" / "ascendc"
SECTOR = 128
HBM, L2 = 1490 / 1.85, 5200 / 1.85  # bytes per cycle at the probe's clock
LINE_REQUESTS = 4.94 / 1.85  # per cycle


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the cost model alone."""
    program = tmp_path_factory.mktemp("probe") / "cost_probe"
    engine = [
        SIMULATOR / "engine" / f"{n}.cpp"
        for n in ("cost", "ub_banks", "bandwidth", "line_queues", "l2_cache", "names")
    ]
    command = ["g++", "-std=c++17", "-O1", f"-I{SIMULATOR}", str(HERE / "native" / "cost_probe.cpp")]
    subprocess.run([*command, *map(str, engine), "-o", str(program)], check=True)
    return program


# ---- shares of bandwidth -------------------------------------------------------------------------------


def max_min(wants: np.ndarray, capacity: float) -> np.ndarray:
    """Serve the smallest want first, each at most an equal share of what is left."""
    rates = np.zeros_like(wants)
    for served, i in enumerate(np.argsort(wants, kind="stable")):
        rates[i] = min(wants[i], capacity / (len(wants) - served))
        capacity -= rates[i]
    return rates


def rates_of(flows: np.ndarray) -> np.ndarray:
    """Share the HBM among misses, then the L2 among everything.

    Columns: bytes of misses and of hits, the core's rates for both, bytes in parts of lines past the L2,
    first line and number of lines touched.
    """
    hbm, hit, hbm_rate, l2_rate, direct, first, lines = flows.T
    fraction = hbm / (hbm + hit)
    rates = (hbm + hit) / (hbm / hbm_rate + hit / l2_rate)
    rates = rates / (1 + direct / (hbm + hit) * (rates * fraction).sum() / HBM)
    touched = [set(range(int(f), int(f + n))) for f, n in zip(first, lines, strict=True)]
    for i, mine in enumerate(touched):
        if mine:
            queue = np.mean([sum(line in other for other in touched) for line in mine])
            rates[i] = min(rates[i], (hbm + hit)[i] / len(mine) * LINE_REQUESTS / queue)
    misses = fraction > 0
    rates[misses] = max_min((rates * fraction)[misses], HBM) / fraction[misses]
    return max_min(rates, L2)


def ends_of(starts: np.ndarray, flows: np.ndarray) -> np.ndarray:
    """Let every transfer advance at its rate until the next one starts or ends."""
    left, ends, now = flows[:, :2].sum(1), np.full(len(starts), np.inf), 0.0
    started = np.zeros(len(starts), bool)
    while not np.all(np.isfinite(ends)):
        active = np.flatnonzero(started & np.isinf(ends))
        rates = rates_of(flows[active])
        to_end = left[active] / rates if len(active) else np.array([np.inf])
        step = min(to_end.min(), (starts[~started] - now).min(initial=np.inf))
        left[active] -= rates * step
        now += step
        if to_end.min() <= step:
            ends[active[to_end.argmin()]] = now
        started |= starts <= now
    return ends


def modelled_ends(probe: Path, starts: np.ndarray, flows: np.ndarray) -> np.ndarray:
    text = "".join(
        " ".join([repr(float(start)), *(repr(float(v)) for v in flow[:5]), *(str(int(v)) for v in flow[5:])])
        + "\n"
        for start, flow in zip(starts, flows, strict=True)
    )
    printed = subprocess.run([probe, "bandwidth"], input=text, capture_output=True, text=True, check=True)
    return np.array(printed.stdout.split(), dtype=float)


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_max_min_fair(probe: Path, seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    count = 200
    starts = np.sort(rng.uniform(0, 20_000, count))  # about 70 in flight: both servers are at times saturated
    load = rng.integers(128, 300_000, count).astype(float)
    share = rng.choice([0.0, 1.0, 0.25, 0.9], count)
    direct = load * share * rng.choice([0.0, 0.5, 1.0], count)
    lines = rng.integers(0, 20, count)  # few, of few: every third transfer or so meets others
    first = rng.integers(0, 300, count)
    rates = np.full(count, 32.0), rng.choice([64.0, 86.0, 110.0], count)
    flows = np.stack([load * share, load * (1 - share), *rates, direct, first, lines], 1)
    # 400 events, each of a few roundings of values near 1e5: far below 1e-9.
    np.testing.assert_allclose(modelled_ends(probe, starts, flows), ends_of(starts, flows), rtol=1e-9)


@pytest.mark.parametrize(
    ("hbm", "hit", "cores", "cycles"),
    [
        (3200, 0, 1, 100),  # its own port: 32 bytes per cycle
        (0, 11000, 1, 100),  # 110
        (3200, 11000, 1, 200),  # misses, then hits
        (3200, 0, 48, 48 * 3200 / HBM),  # the HBM
        (0, 11000, 48, 48 * 11000 / L2),  # the L2
    ],
)
def test_a_transfer_is_bound_by_its_port_or_by_what_all_share(
    probe: Path, hbm: float, hit: float, cores: int, cycles: float
) -> None:
    flow = [hbm, hit, 32.0, 110.0, 0, 0, 0]
    ends = modelled_ends(probe, np.zeros(cores), np.tile(flow, (cores, 1)))
    np.testing.assert_allclose(ends, cycles, rtol=1e-12)


@pytest.mark.parametrize("cores", [1, 24, 48])
def test_parts_of_lines_past_the_l2_wait_for_their_turn(probe: Path, cores: int) -> None:
    flow = [3200, 0, 32.0, 110.0, 3200, 0, 0]
    ends = modelled_ends(probe, np.zeros(cores), np.tile(flow, (cores, 1)))
    # the time of the port and that of everybody's bytes at the HBM, one after the other
    np.testing.assert_allclose(ends, 3200 / 32 + cores * 3200 / HBM, rtol=1e-12)


@pytest.mark.parametrize("cores", [1, 2, 24, 48])
@pytest.mark.parametrize("bytes_per_line", [128, 512])
def test_lines_that_many_touch_serve_one_request_after_another(
    probe: Path, cores: int, bytes_per_line: int
) -> None:
    flow = [0, 100 * bytes_per_line, 32.0, 110.0, 0, 7, 100]
    ends = modelled_ends(probe, np.zeros(cores), np.tile(flow, (cores, 1)))
    load = cores * 100 * bytes_per_line
    np.testing.assert_allclose(
        ends, max(load / cores / 110, load / L2, cores * 100 / LINE_REQUESTS), rtol=1e-12
    )
    apart = np.tile(flow, (cores, 1))
    apart[:, 5] = 100 * np.arange(cores)
    ends = modelled_ends(probe, np.zeros(cores), apart)
    np.testing.assert_allclose(ends, max(load / cores / 110, load / L2), rtol=1e-12)


# ---- what comes from HBM -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kernels() -> Path:
    return simulator.build(HERE / "kernels" / "traffic.cpp")


def run_traffic(
    kernels: Path,
    pieces: int,
    piece_bytes: int,
    stride: int,
    *,
    passes: int = 1,
    written: int = 0,
    role: str = "output",
    past_l2: bool = False,
) -> simulator.Result:
    x = aligned_empty((pieces * stride,), np.int8)
    x[:] = 1
    y = simulator.output(np.zeros(1 << 16, np.int8)) if role == "output" else simulator.workspace(1 << 16)
    arguments = {
        "x": x,
        "y": y,
        "pieces": pieces,
        "piece_bytes": piece_bytes,
        "stride": stride,
        "passes": passes,
        "written": written,
        "past_l2": int(past_l2),
    }
    result = simulator.launch(kernels, "traffic", arguments, kind="vector", cores=1, race_detection=False)
    assert not result.findings, result.findings
    return result


def sectors(pieces: int, piece_bytes: int, stride: int) -> int:
    first = np.arange(pieces)[:, None] * stride + np.arange(piece_bytes)
    return len(np.unique(first // SECTOR))


@pytest.mark.parametrize(
    ("piece_bytes", "stride"),
    [(32, 32), (32, 64), (32, 128), (32, 256), (32, 1024), (128, 512), (96, 160), (512, 512), (640, 1024)],
)
def test_hbm_bytes_are_the_sectors_touched(kernels: Path, piece_bytes: int, stride: int) -> None:
    counters = run_traffic(kernels, 64, piece_bytes, stride).counters
    assert counters.hbm_read_bytes == SECTOR * sectors(64, piece_bytes, stride)
    assert counters.l2_read_bytes == 64 * piece_bytes


def test_rows_of_one_head_fetch_those_of_its_neighbours(kernels: Path) -> None:
    amplification = {
        heads: run_traffic(kernels, 64, 32, 32 * heads).counters.hbm_read_bytes / (64 * 32)
        for heads in (1, 2, 4, 8)
    }
    assert amplification == {1: 1, 2: 2, 4: 4, 8: 4}


def test_what_was_read_before_is_in_the_l2(kernels: Path) -> None:
    once, thrice = (run_traffic(kernels, 64, 2048, 2048, passes=n).counters for n in (1, 3))
    assert thrice.hbm_read_bytes == once.hbm_read_bytes == 64 * 2048
    assert thrice.l2_read_bytes == 3 * once.l2_read_bytes
    miss = once.instructions["DataCopyPad"].cycles
    hit = (thrice.instructions["DataCopyPad"].cycles - miss) / 2
    assert miss == pytest.approx(64 * 2048 / 32)  # bytes per cycle of one core
    assert hit == pytest.approx(64 * 2048 / 110)


def test_what_passes_the_l2_is_fetched_every_time(kernels: Path) -> None:
    thrice = run_traffic(kernels, 64, 512, 512, passes=3, past_l2=True).counters
    assert thrice.hbm_read_bytes == thrice.l2_read_bytes == 3 * 64 * 512


def test_what_passes_the_l2_on_its_way_out_reaches_hbm(kernels: Path) -> None:
    counters = run_traffic(kernels, 64, 512, 512, written=10_000, role="workspace", past_l2=True).counters
    assert counters.hbm_write_bytes == -(-10_000 // SECTOR) * SECTOR


@pytest.mark.parametrize(("ranges", "matrices"), [(1, 4), (4, 1)])
def test_a_matrix_larger_than_the_l2_is_fetched_every_time(ranges: int, matrices: int) -> None:
    """The vendor's hit rates are 0.005 % for the whole matrix four times and 75.00 % by quarters."""
    counters = calibration.four_times("rows_to_ub", ranges).counters
    assert counters.hbm_read_bytes == matrices * calibration.ROWS * calibration.COLUMNS * 2
    assert counters.l2_read_bytes == 4 * calibration.ROWS * calibration.COLUMNS * 2


def test_outputs_reach_hbm_and_a_workspace_stays_in_the_l2(kernels: Path) -> None:
    output = run_traffic(kernels, 64, 512, 512, written=10_000).counters
    workspace = run_traffic(kernels, 64, 512, 512, written=10_000, role="workspace").counters
    assert output.hbm_write_bytes == -(-10_000 // SECTOR) * SECTOR
    assert workspace.hbm_write_bytes == 0
    assert output.l2_write_bytes == workspace.l2_write_bytes == 10_000


# ---- prices --------------------------------------------------------------------------------------------


SETUP, REPEATS = 22, 64  # cycles to start a vector instruction; repeats of the additions below
BANK = 0x10000  # offset in UB of the next bank of each group


@pytest.mark.parametrize(
    ("operands", "cycles_per_repeat"),
    [
        ((0, BANK + 0x100, 2 * BANK), 1),  # sources in different groups, all in different banks
        ((0, BANK, 2 * BANK + 0x100), 2),  # both sources in the same eight groups
        ((0, BANK + 0x20, 2 * BANK), 2),  # in seven of eight: the fullest group decides
        ((0, 0, 2 * BANK), 2),  # two operands that are one
        ((0, BANK + 0x100, 2 * BANK, 16), 8),  # eight blocks of a source in one group
        ((0, BANK + 0x100, 2 * BANK, 8), 5),  # four in each of two groups, and a block of the other source
        ((0, BANK + 0x100, 0x4000), 1),  # in step with src0: the write comes a repeat later
        ((0, BANK + 0x100, 0x4020), 1 + 49 / 64),  # not in step: it meets a read
        ((0, 0x100, 0x8000), 1 + 49 / 64),  # in step with src0, but a repeat later it meets src1
    ],
)
def test_operands_queue_for_banks(operands: tuple[int, ...], cycles_per_repeat: float) -> None:
    assert calibration.add_cycles(*operands) == pytest.approx(SETUP + REPEATS * cycles_per_repeat, abs=2)


def test_an_unknown_instruction_is_an_error(probe: Path) -> None:
    printed = subprocess.run(
        [probe, "price", "Addd", "Add"], capture_output=True, text=True, check=True
    ).stdout
    assert "nothing is known about Addd on pipe V" in printed
    assert printed.count("priced") == 1
