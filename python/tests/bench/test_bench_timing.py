"""How often work is repeated, and why it ends: all on a clock whose times are planted."""

from __future__ import annotations

import json
import math

import independent_summary
import pytest
from stand_ins import PlantedClock

from gpuscope.bench import Measurement, measure
from gpuscope.bench._summary import summarize
from gpuscope.bench.limits import Limits
from gpuscope.bench.timing import measure_together
from gpuscope.errors import UsageError


class Calls:
    """Work that counts how often it is done."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_what_never_varies_is_precise_at_once() -> None:
    work, clock = Calls(), PlantedClock([2.5])
    result = measure(work, clock=clock)
    assert (result.stopped, result.samples_ms, result.clock) == ("precise", (2.5,) * 20, "planted")
    assert (result.mean_ms, result.half_width_ms) == (2.5, 0.0)
    assert work.count == 10 + 20, "the warm-up is not timed"
    assert clock.batches == [20]


def test_it_repeats_until_the_interval_is_narrow_enough_and_looks_seldom() -> None:
    # Mean 2, deviation 1: after 68 repeats the half width is 1.996 * 1.0075 / sqrt(68) = 0.2439, after 102 it is
    # 1.984 * 1.0050 / sqrt(102) = 0.1974, and 0.2 is asked for.
    clock = PlantedClock([1.0, 3.0])
    result = measure(Calls(), precision=0.1, clock=clock)
    assert (result.stopped, len(result.samples_ms)) == ("precise", 102)
    assert clock.batches == [20, 10, 15, 23, 34]
    assert result.mean_ms == 2.0
    assert result.half_width_ms == pytest.approx(0.1974, abs=1e-4)


def test_confidence_widens_the_interval() -> None:
    assert len(measure(Calls(), precision=0.1, confidence=0.99, clock=PlantedClock([1, 3])).samples_ms) == 230


def test_the_most_repeats_end_it() -> None:
    result = measure(Calls(), max_repeats=100, precision=0.001, clock=PlantedClock([1, 3]))
    assert (result.stopped, len(result.samples_ms)) == ("repeats", 100)


def test_the_time_limit_ends_it_before_it_is_passed() -> None:
    clock = PlantedClock([900.0, 1100.0])
    result = measure(Calls(), warmup=1, precision=0.001, time_limit_s=10, clock=clock)
    assert (result.stopped, len(result.samples_ms)) == ("time", 10)
    assert clock.seconds == pytest.approx(10)


def test_two_repeats_are_timed_however_long_they_take() -> None:
    result = measure(Calls(), warmup=0, time_limit_s=1, clock=PlantedClock([60_000.0, 70_000.0]))
    assert (result.stopped, len(result.samples_ms)) == ("time", 2)


def test_a_slow_warm_up_is_cut_short_but_its_first_call_does_not_count() -> None:
    clock = PlantedClock([20_000.0])
    calls = Calls()

    def slow() -> None:
        if calls.count < 2:
            clock.seconds += 20
        calls()

    result = measure(slow, time_limit_s=60, clock=clock)
    # One call that may compile, one that shows how long it takes: 20 s are more than a quarter of the limit.
    assert (calls.count, len(result.samples_ms), result.stopped) == (2 + 2, 2, "time")


def test_a_watcher_sees_the_measurement_grow() -> None:
    seen: list[Measurement] = []
    measure(Calls(), precision=0.1, clock=PlantedClock([1, 3]), watcher=seen.append)
    assert [len(so_far.samples_ms) for so_far in seen] == [20, 30, 45, 68]


def test_works_take_turns() -> None:
    order = []
    works = [lambda: order.append("a"), lambda: order.append("b")]
    measure_together(works, Limits(warmup=0, min_repeats=10, max_repeats=10), clock=PlantedClock([1, 2]))
    # Without a warm-up the first turn is short: nobody knows yet how long a repeat takes.
    assert "".join(order) == "aabb" + "aaaaabbbbb" + "aaabbb"


def test_drift_hits_works_that_take_turns_alike() -> None:
    clock = PlantedClock([1.0 + 0.001 * at for at in range(10_000)])
    together = measure_together([Calls(), Calls()], Limits(min_repeats=100, max_repeats=100), clock=clock)
    apart = [measure(Calls(), min_repeats=100, max_repeats=100, clock=clock) for _ in range(2)]
    assert together[1].mean_ms / together[0].mean_ms == pytest.approx(1, abs=0.005)
    assert apart[1].mean_ms / apart[0].mean_ms > 1.05


def test_the_host_s_clock_is_used_without_a_gpu() -> None:
    result = measure(lambda: sum(range(2000)), max_repeats=30, time_limit_s=5)
    assert result.clock == "time.perf_counter_ns"
    assert 0 < result.summary["min"] <= result.mean_ms <= result.summary["max"] < 1000


def test_what_the_work_raises_comes_through() -> None:
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        measure(fail)


def test_a_single_repeat_has_no_interval_and_is_still_json() -> None:
    result = measure(Calls(), max_repeats=1, min_repeats=1, clock=PlantedClock([4.0]))
    assert (result.stopped, math.isinf(result.half_width_ms)) == ("repeats", True)
    timing = json.loads(json.dumps(result.to_dict(), allow_nan=False))["timing"]
    assert (timing["mean"], timing["count"]) == (4.0, 1)
    assert "±" not in str(result)


def test_results_have_the_keys_of_the_file() -> None:
    said = measure(Calls(), precision=0.1, clock=PlantedClock([1, 3])).to_dict()
    assert list(said["timing"]) == [
        *("mean", "std", "min", "max", "median", "p95", "p99", "ci_low", "ci_high", "count")
    ]
    assert said["timing"]["count"] == len(said["samples_ms"]) == 102
    assert said["stopped"] == "precise"
    assert str(measure(Calls(), clock=PlantedClock([2]))) == "2 ± 0 ms (95 % confidence, 20 repeats)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"warmup": -1}, "warmup=-1: use 0 or more"),
        ({"min_repeats": 0}, "min_repeats=0: use 1 or more"),
        ({"max_repeats": 0}, "min_repeats=0: use 1 or more"),
        ({"precision": 0.0}, "precision=0.0"),
        ({"confidence": 95.0}, "confidence=95.0: use a part of one"),
        ({"time_limit_s": 0.0}, "time_limit_s=0.0"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(options: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        measure(Calls(), **options)  # type: ignore[arg-type]
    assert said in str(raised.value)


def test_options_by_name_are_checked() -> None:
    with pytest.raises(UsageError, match="did you mean warmup"):
        Limits().but({"warmups": 3})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(UsageError, match="whole number"):
        Limits().but({"warmup": 2.5})  # type: ignore[typeddict-item]
    with pytest.raises(UsageError, match="max_repeats=5: use at least min_repeats, 20"):
        Limits().but({"max_repeats": 5, "min_repeats": 20})
    assert Limits().but({"min_repeats": 5000}).max_repeats == 5000
    assert Limits().but({"max_repeats": 5}).min_repeats == 5


def test_the_summary_is_what_it_is_by_hand() -> None:
    samples = [1.0, 2.0, 3.0, 4.0, 10.0]
    expected = {
        "count": 5,
        "mean": 4.0,
        "std": math.sqrt(12.5),
        "min": 1,
        "median": 3,
        "max": 10,
        # Between the fourth and the fifth of five.
        "p95": 4 + 0.8 * 6,
        "p99": 4 + 0.96 * 6,
        # 2.776445 is Student's t for four degrees of freedom.
        "ci_low": 4 - 2.776445 * math.sqrt(2.5),
        "ci_high": 4 + 2.776445 * math.sqrt(2.5),
    }
    assert independent_summary.summarize(samples) == pytest.approx(expected, rel=1e-6)
    assert summarize(samples, 0.95) == pytest.approx(expected, rel=1e-6)
    wide = independent_summary.summarize(samples, 0.99)
    assert summarize(samples, 0.99)["ci_high"] == pytest.approx(wide["ci_high"], rel=1e-6)


@pytest.mark.parametrize("count", [2, 3, 17, 200])
def test_the_summary_agrees_with_another_way_to_it(count: int) -> None:
    samples = [1.0 + 0.3 * math.sin(7.0 * i) + 0.01 * i for i in range(count)]
    assert summarize(samples, 0.9) == pytest.approx(independent_summary.summarize(samples, 0.9), rel=1e-6)
