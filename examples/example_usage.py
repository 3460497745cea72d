"""Kernels, copies, Python stacks and layers of a small model in training, collected and drawn.

    python examples/example_usage.py [FOLDER]

Writes five pages into the folder (default: ``example_usage``). Needs torch and plotly. Kernels and copies
need an NVIDIA GPU and ``pip install 'gpuscope[cupti]'``; without them the program says so and draws the rest.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import torch
from torch import nn

from gpuscope.errors import MissingDependency
from gpuscope.plots import (
    MEMCPY_KIND_STR,
    CuptiUnavailable,
    ExtractModel,
    KernelDataCollector,
    MemoryCopy,
    StacktraceCollector,
    finalize_cupti_kernels,
    finalize_cupti_memcpy,
    plot_bottleneck_analysis,
    plot_layer_runtime_stats,
    plot_stacktrace_with_kernels,
    plot_throughput_analysis,
    plot_timeline_memcpy_and_passes,
    setup_cupti_kernels,
    setup_cupti_memcpy,
)


def a_small_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def train(model: nn.Module, device: torch.device, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        images = torch.randn(16, 3, 32, 32).to(device)
        labels = torch.randint(0, 10, (16,)).to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    if device.type == "cuda":
        torch.cuda.synchronize()


def main(folder: Path) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = a_small_network().to(device)
    train(model, device, steps=1)  # At first use, libraries are loaded and kernels chosen.
    kernel_collector, memcpy_info = KernelDataCollector(), MemoryCopy()

    with ExitStack() as work:
        try:
            setup_cupti_kernels(kernel_collector)
            setup_cupti_memcpy(memcpy_info)
        except (CuptiUnavailable, MissingDependency) as error:
            print(f"Kernels and copies are not collected: {error}")
        work.callback(finalize_cupti_memcpy)
        work.callback(finalize_cupti_kernels)
        profile = work.enter_context(ExtractModel(model))
        stacktrace_collector = work.enter_context(StacktraceCollector(interval_ms=1))
        train(model, device, steps=10)

    figures = {
        "bottlenecks": plot_bottleneck_analysis(kernel_collector),
        "stack": plot_stacktrace_with_kernels(stacktrace_collector, kernel_collector),
        "layers": plot_layer_runtime_stats(profile),
        "throughput": plot_throughput_analysis(profile),
        "timeline": plot_timeline_memcpy_and_passes(memcpy_info, profile, MEMCPY_KIND_STR),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.write_html(folder / f"{name}.html")
        print(f"Wrote {folder / name}.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "example_usage"))
