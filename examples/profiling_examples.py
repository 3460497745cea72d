"""A small transformer in training, looked at in seven ways: where do its time and its memory go, and what would help?

    python examples/profiling_examples.py [FOLDER] [--skip-compile]

Writes traces, pages and data into the folder (default: ``profiling_examples``). Needs torch; uses a GPU of NVIDIA
or AMD if there is one, else the CPU.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from gpuscope.profiling import (
    FlameGraphGenerator,
    HTAAnalyzer,
    MemoryProfiler,
    TimelineGenerator,
    TorchCompileAnalyzer,
    UnifiedProfiler,
)

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
VOCABULARY, WIDTH, HEADS, LAYERS, BATCH, LENGTH = 1000, 128, 4, 2, 8, 64


class SmallTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embedding(tokens)))


class Training:
    """A model, its data, and one step."""

    def __init__(self) -> None:
        self.model = SmallTransformer().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH), device=DEVICE)

    def step(self) -> None:
        self.optimizer.zero_grad()
        predicted = self.model(self.tokens)
        loss = nn.functional.cross_entropy(predicted.flatten(0, 1), self.tokens.flatten())
        loss.backward()
        self.optimizer.step()


def profile_a_block(training: Training) -> None:
    profiler = UnifiedProfiler(output_dir="profiles", record_shapes=True)
    training.step()  # At first use, libraries are loaded and memory is taken.
    with profiler.profile("training_step") as session:
        training.step()
    print(session.summary(num_kernels=5))


def compare_two_ways(training: Training) -> None:
    profiler = UnifiedProfiler(output_dir="profiles", enable_flame_graph=False)
    model, tokens = training.model.eval(), training.tokens

    def without_gradients() -> torch.Tensor:
        with torch.inference_mode():
            return model(tokens)

    recording = profiler.profile_function(model, tokens, name="recording_gradients", warmup=2, iterations=5)
    inference = profiler.profile_function(without_gradients, name="without_gradients", warmup=2, iterations=5)
    compared = profiler.compare_sessions(recording, inference)
    print(f"Without recording for the backward pass: {compared['speedup']:.2f} times as fast,")
    print(f"{compared['memory_diff']['peak_mb']:.1f} MB less memory at the peak")
    training.model.train()


def follow_memory(training: Training) -> None:
    profiler = MemoryProfiler(sample_interval_ms=1.0)
    for number in range(2):
        with profiler.track(f"step {number}"):
            training.step()
    peak = profiler.get_peak_analysis()
    print(f"{len(profiler.get_timeline())} points; {peak['peak_allocated_mb']:.1f} MB at the most,")
    print(f"{peak['peak_time_ms']:.1f} ms after the start")
    for name in ("memory.json", "memory.html"):
        print(f"Wrote {profiler.export(name)}")


def record(training: Training) -> Path:
    """A trace as torch.profiler writes it, which the next three ways start from."""
    with torch.profiler.profile(with_stack=True) as profiler:
        training.step()
    trace = Path("trace.json")
    profiler.export_chrome_trace(str(trace))
    return trace


def draw_a_flame_graph(training: Training) -> None:
    generator = FlameGraphGenerator(min_duration_us=10.0, max_depth=50)
    graph = generator.from_chrome_trace(record(training))
    for name in ("flame.html", "flame.json"):
        print(f"Wrote {generator.export(graph, name)}")


def draw_a_timeline(training: Training) -> None:
    generator = TimelineGenerator(min_duration_us=1.0)
    timeline = generator.from_chrome_trace(record(training))
    print(timeline.summary())
    print(f"Wrote {generator.generate_html_viewer(timeline, 'timeline.html')}")


def analyse_a_trace(training: Training) -> None:
    analyzer = HTAAnalyzer(output_dir="hta")
    report = analyzer.analyze_trace(record(training))
    print(f"Idle {report.gpu_idle_time_pct:.1f} %, computing {report.compute_time_pct:.1f} %")
    for kernel in report.top_kernels[:3]:
        print(f"  {kernel['time_us']:10.1f} µs  {kernel['name']}")
    for advice in report.recommendations:
        print(f"  {advice}")
    for note in report.notes:
        print(f"  Note: {note}")


def compile_the_model(training: Training) -> None:
    analyzer = TorchCompileAnalyzer(backend="inductor", mode="default")
    with torch.no_grad():
        report = analyzer.analyze(training.model, training.tokens, warmup=2, iterations=5)
    print(f"{report.speedup:.2f} times as fast after {report.compile_time_ms / 1000:.1f} s of compiling")
    print(f"{report.total_graph_breaks} graph breaks; {report.fusion_ratio:.1f} operators to a kernel")
    for advice in report.recommendations:
        print(f"  {advice}")
    print(f"Wrote {analyzer.export_report(report, 'compile_report.html')}")


WAYS: dict[str, Callable[[Training], None]] = {
    "A block of code": profile_a_block,
    "Two ways of doing the same": compare_two_ways,
    "Memory over time": follow_memory,
    "A flame graph": draw_a_flame_graph,
    "A timeline of CPU and GPU": draw_a_timeline,
    "Analysis of a trace": analyse_a_trace,
    "torch.compile": compile_the_model,
}


def main() -> None:
    command_line = argparse.ArgumentParser(description="Profile a small transformer in several ways.")
    command_line.add_argument("folder", nargs="?", type=Path, default=Path("profiling_examples"))
    command_line.add_argument("--skip-compile", action="store_true", help="leave out torch.compile")
    options = command_line.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(options.folder)
    torch.manual_seed(0)
    training = Training()
    for title, way in WAYS.items():
        if way is compile_the_model and options.skip_compile:
            continue
        print(f"\n== {title}")
        way(training)


if __name__ == "__main__":
    main()
