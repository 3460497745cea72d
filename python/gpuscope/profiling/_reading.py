"""From a trace to a session: kernels, times, bottlenecks and advice, from the same analyses as the CLI's."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gpuscope.profiling._host import CPU_TAKES_THE_GPUS_PLACE, host_findings, host_operators
from gpuscope.profiling.session import KernelInfo, ProfileSession

if TYPE_CHECKING:
    from gpuscope import Run

# Hints for whoever records a trace by hand; a session records what it needs.
_NOT_WORTH_A_NOTE = frozenset({"no_gpu_events"})


def read_trace(session: ProfileSession, run: Run) -> None:
    """Fill in what the trace tells about the session."""
    timeline = run.timeline()
    ranks = timeline.data["ranks"]
    total_ns = sum(rank["total_ns"] for rank in ranks)
    host_ns = sum(rank["cpu_active_ns"] for rank in ranks)
    gpu_ns = sum(rank["gpu_active_ns"] for rank in ranks)
    session.cpu_time_ms = host_ns / 1e6
    session.notes += [
        entry["message"]
        for entry in timeline.quality
        if entry["severity"] != "info" and entry["code"] not in _NOT_WORTH_A_NOTE
    ]
    if gpu_ns > 0:
        session.cuda_time_ms = gpu_ns / 1e6
        session.kernels = gpu_kernels(run)
        _read_findings(session, run)
    else:
        session.device = "cpu"
        session.cuda_time_ms = session.cpu_time_ms
        session.notes.insert(0, CPU_TAKES_THE_GPUS_PLACE)
        _read_host(session, run, host_ns, total_ns)


def gpu_kernels(run: Run) -> list[KernelInfo]:
    """Kernels, copies and memory sets by their time on the GPU, the largest first."""
    launching_ns: dict[str, int] = defaultdict(int)
    for rank in run.launches().data["ranks"]:
        for launch in rank["launches"]:
            launching_ns[launch["name"]] += launch["cpu_ns"]
    rows = run.kernels().data["kernels"]
    all_ns = sum(row["sum_ns"] for row in rows)
    kernels = [
        KernelInfo(
            name=row["name"],
            cuda_time_us=row["sum_ns"] / 1000,
            cpu_time_us=launching_ns[row["name"]] / 1000,
            calls=row["count"],
            percent=100 * row["sum_ns"] / all_ns if all_ns else 0.0,
            kind=row["kernel_type"],
        )
        for row in rows
    ]
    return sorted(kernels, key=lambda kernel: -kernel.cuda_time_us)


def _read_findings(session: ProfileSession, run: Run) -> None:
    for finding in run.analyze().data["findings"]:
        session.bottlenecks.append(finding["title"])
        gain = finding["gain_pct"]
        promise = f" (up to {gain:.0f} % of a step)" if gain is not None else ""
        session.recommendations.append(finding["advice"] + promise)


def _read_host(session: ProfileSession, run: Run, host_ns: int, total_ns: int) -> None:
    operators = host_operators(run)
    all_us = sum(operator.own_us for operator in operators)
    session.kernels = [
        KernelInfo(
            name=operator.name,
            cuda_time_us=operator.own_us,
            cpu_time_us=operator.own_us,
            calls=operator.calls,
            percent=100 * operator.own_us / all_us if all_us else 0.0,
            kind="CPU",
        )
        for operator in operators
    ]
    for finding in host_findings(operators, host_ns, total_ns):
        session.bottlenecks.append(finding.bottleneck)
        session.recommendations.append(finding.advice)
