"""The code that people write against this interface, block by block, as they would write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuscope.profiling.__main__ import main

torch = pytest.importorskip("torch", reason="LIVE TESTS SKIPPED: torch is not installed")

BLOCKS = {
    "UnifiedProfiler": """
from gpuscope.profiling import UnifiedProfiler

profiler = UnifiedProfiler(
    output_dir="./profiles",
    enable_trace=True,
    enable_memory=True,
    enable_flame_graph=True,
)

# Profile a code block
with profiler.profile("my_benchmark") as session:
    output = model(input)
    loss = criterion(output, target)
    loss.backward()

# Access results
print(f"Total time: {session.total_time_ms:.2f}ms")
print(f"GPU time: {session.cuda_time_ms:.2f}ms")
print(f"Peak memory: {session.peak_memory_mb:.1f}MB")
print(f"Bottlenecks: {session.bottlenecks}")
print(f"Recommendations: {session.recommendations}")

# Top kernels
for kernel in session.kernels[:10]:
    print(f"  {kernel.name}: {kernel.cuda_time_us:.0f}μs")
""",
    "Profile a function": """
session = profiler.profile_function(
    model.forward,
    input_tensor,
    name="forward_pass",
    warmup=5,
    iterations=20,
)
""",
    "Compare sessions": """
baseline_session = profiler.profile_function(baseline_model, input)
optimized_session = profiler.profile_function(optimized_model, input)

comparison = profiler.compare_sessions(baseline_session, optimized_session)
print(f"Speedup: {comparison['speedup']:.2f}x")
print(f"Memory saved: {comparison['memory_diff']['peak_mb']:.1f}MB")
""",
    "MemoryProfiler": """
from gpuscope.profiling import MemoryProfiler

mem_profiler = MemoryProfiler(
    sample_interval_ms=1.0,
    record_history=True,
)

with mem_profiler.track("training_step"):
    output = model(input)
    loss.backward()
    optimizer.step()

# Get timeline
timeline = mem_profiler.get_timeline()
for point in timeline:
    print(f"t={point['time_ms']:.1f}ms: {point['allocated_mb']:.1f}MB")

# Peak analysis
peak = mem_profiler.get_peak_analysis()
print(f"Peak: {peak['peak_allocated_mb']:.1f}MB at t={peak['peak_time_ms']:.1f}ms")

# Export
mem_profiler.export("memory_profile.json")
""",
    "FlameGraphGenerator": """
from gpuscope.profiling import FlameGraphGenerator

generator = FlameGraphGenerator(
    min_duration_us=10.0,
    max_depth=50,
    group_small_kernels=True,
)

# From torch.profiler
with torch.profiler.profile() as prof:
    model(input)

flame_data = generator.from_profiler(prof)
generator.export(flame_data, "flame.html", format="html")

# From Chrome trace
flame_data = generator.from_chrome_trace("trace.json")
generator.export(flame_data, "flame.json", format="json")
""",
    "TimelineGenerator": """
from gpuscope.profiling import TimelineGenerator

generator = TimelineGenerator(
    min_duration_us=1.0,
    include_python_events=True,
)

# From profiler
with torch.profiler.profile() as prof:
    model(input)

timeline = generator.from_profiler(prof)

# Statistics
print(f"Total: {timeline.total_time_us/1000:.2f}ms")
print(f"CPU active: {timeline.cpu_active_time_us/1000:.2f}ms")
print(f"GPU active: {timeline.gpu_active_time_us/1000:.2f}ms")
print(f"Overlap: {timeline.overlap_time_us/1000:.2f}ms")

# Export
generator.export_chrome_trace(timeline, "timeline_trace.json")
generator.generate_html_viewer(timeline, "timeline.html")
""",
    "HTAAnalyzer": """
from gpuscope.profiling import HTAAnalyzer

analyzer = HTAAnalyzer(output_dir="./hta_output")

# Analyze existing trace
report = analyzer.analyze_trace("trace.json")

print(f"GPU idle: {report.gpu_idle_time_pct:.1f}%")
print(f"Compute: {report.compute_time_pct:.1f}%")
print(f"Communication: {report.communication_time_pct:.1f}%")

# Top kernels
for kernel in report.top_kernels[:5]:
    print(f"  {kernel['name']}: {kernel['time_us']:.0f}μs")

# Recommendations
for rec in report.recommendations:
    print(f"💡 {rec}")

# Export report
analyzer.export_report(report, "hta_report.html", format="html")
""",
}

COMMANDS = [
    "flame trace.json -o flame.html",
    "timeline trace.json -o timeline.html",
    "hta trace.json -o report.html",
    "flame trace.json --output flame.html",
    "flame trace.json --output flame.json --json",
    "timeline trace.json --output timeline.html",
    "hta trace.json --output hta_report.html",
    "hta trace.json --output hta_report.json --json",
]

SESSION_FIELDS = {
    "total_time_ms": float,
    "cuda_time_ms": float,
    "cpu_time_ms": float,
    "peak_memory_mb": float,
    "allocated_memory_mb": float,
    "reserved_memory_mb": float,
    "kernels": list,
    "bottlenecks": list,
    "recommendations": list,
    "trace_path": Path,
    "flame_graph_data": dict,
}

REPORT_FIELDS = {
    "gpu_idle_time_pct": float,
    "compute_time_pct": float,
    "communication_time_pct": float,
    "top_kernels": list,
    "recommendations": list,
    "bottlenecks": list,
}


@pytest.fixture(scope="module")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the blocks take for granted: a model, its data, and a trace file in the folder they run in."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).to(device)
    folder = tmp_path_factory.mktemp("document")
    given = {
        "torch": torch,
        "model": model,
        "baseline_model": model,
        "optimized_model": torch.nn.Linear(32, 8).to(device),
        "input": torch.randn(16, 32, device=device),
        "target": torch.randint(0, 8, (16,), device=device),
        "criterion": torch.nn.CrossEntropyLoss(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.01),
        "folder": folder,
    }
    with torch.profiler.profile() as prof:
        given["criterion"](model(given["input"]), given["target"]).backward()
    prof.export_chrome_trace(str(folder / "trace.json"))
    return given


@pytest.fixture(autouse=True)
def in_its_folder(namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(namespace["folder"])
    # A loss goes backward only once, and a block expects one that has not.
    namespace["loss"] = namespace["criterion"](namespace["model"](namespace["input"]), namespace["target"])
    namespace["input_tensor"] = namespace["input"]


@pytest.mark.parametrize("title", BLOCKS)
def test_block(title: str, namespace: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    if title in ("Profile a function", "Compare sessions") and "profiler" not in namespace:
        exec(BLOCKS["UnifiedProfiler"], namespace)
    exec(BLOCKS[title], namespace)
    shown = capsys.readouterr().out
    assert "nan" not in shown
    match title:
        case "UnifiedProfiler":
            check_fields(namespace["session"], SESSION_FIELDS)
            assert shown.count("μs") == 10
        case "Profile a function":
            assert (namespace["session"].name, namespace["session"].iterations) == ("forward_pass", 20)
        case "Compare sessions":
            assert namespace["comparison"]["speedup"] > 0
        case "MemoryProfiler":
            assert shown.count("MB\n") >= 2
            assert Path("memory_profile.json").exists()
        case "FlameGraphGenerator":
            assert Path("flame.html").exists()
            assert Path("flame.json").exists()
        case "TimelineGenerator":
            assert Path("timeline_trace.json").exists()
            assert Path("timeline.html").exists()
        case "HTAAnalyzer":
            check_fields(namespace["report"], REPORT_FIELDS)
            assert Path("hta_report.html").exists()
            assert Path("hta_output").is_dir()


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, namespace: dict[str, Any]) -> None:
    words = command.split()
    written = namespace["folder"] / words[3]
    written.unlink(missing_ok=True)
    assert main(words) == 0
    assert written.read_text().lstrip().lower().startswith("{" if "--json" in words else "<!doctype html")


def check_fields(value: object, fields: dict[str, type]) -> None:
    for name, kind in fields.items():
        assert isinstance(getattr(value, name), kind), name
