"""Benchmarks of your own: a single piece of work, and a matrix of configurations and sizes.

    python examples/bench_example.py [FILE.json]
    gpuscope bench run examples/bench_example.py:mlp --batch 1,16 --precision 0.01

Needs torch. Without a file nothing is written; with one, `gpuscope bench report FILE.json` shows it again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from gpuscope.bench import benchmark, measure, run


@benchmark(
    configs={"narrow": {"width": 32, "depth": 2}, "wide": {"width": 128, "depth": 2}},
    batch=(1, 8),
    seq_len=16,
    precision=0.05,
    time_limit_s=5,
)
def mlp(width: int, depth: int, batch: int, seq_len: int) -> Callable[[], Any]:
    """Set the model up outside of the clock, and give back what is timed."""
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers).eval()
    x = torch.randn(batch, seq_len, width)

    def forward() -> torch.Tensor:
        with torch.inference_mode():
            return model(x)

    return forward


def main() -> None:
    a = torch.randn(64, 64)
    print("64 x 64 product:", measure(lambda: a @ a, precision=0.05, time_limit_s=5))

    data = run(mlp, output=sys.argv[1] if len(sys.argv) > 1 else None)
    for key, entry in data["benchmarks"].items():
        timing = entry["timing"]
        half = (timing["ci_high"] - timing["ci_low"]) / 2
        print(
            f"{key}: {timing['mean']:.4f} ± {half:.4f} ms, {entry['throughput_tokens_per_sec']:.0f} tokens/s, "
            f"{timing['count']} repeats ({entry['stopped']})"
        )


if __name__ == "__main__":
    main()
