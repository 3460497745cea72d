"""Opening, asking, and what answers become."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import gpuscope
from gpuscope._flags import flags

KERNEL = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7}}


def small() -> gpuscope.Run:
    first = {**KERNEL, "name": "gemm", "ts": 10, "dur": 2.5}
    second = {**KERNEL, "name": "ncclDevKernel_AllReduce", "ts": 11.5, "dur": 3, "tid": 9}
    return gpuscope.open_events([first, second])


def test_a_breakdown_is_exact() -> None:
    total = small().breakdown().data["ranks"][0]["total"]
    assert total["computation_ns"] == 2_500
    assert total["exposed_comm_ns"] == 2_000
    assert total["total_ns"] == 4_500


def test_every_question_is_a_method(demo: Path) -> None:
    run = gpuscope.open(demo)
    asked = [
        run.analyze(), run.info(), run.breakdown(micro_idle_us=5), run.temporal(), run.overlap(), run.idle(),
        run.kernels(num_kernels=3), run.launches(), run.queue(series=True), run.bandwidth(series=True), run.phases(),
        run.layers(depth=2), run.throughput(tokens_per_step=1024), run.stacks(depth=3), run.flame(max_depth=4),
        run.patterns(top_k=2), run.op_kernels(), run.ops(by="args", top=3), run.memory(), run.counters(),
        run.annotations(kernels=True), run.critical_path(), run.timeline(), run.collectives(), run.stragglers(),
        run.inference(), run.whatif(scale={"nccl.*": 0.5}), run.profile(), run.hta(), run.check(), run.diff(run), run.diff(run, tree=True),
    ]  # fmt: skip
    for answer in asked:
        assert answer.data is not None, answer.command
        assert str(answer).strip(), answer.command
        assert answer.inputs and isinstance(answer.quality, list)
        assert "<" in answer._repr_html_(), answer.command
    # What takes no part here writes files rather than answers.
    methods = {name for name in vars(gpuscope.questions.Questions) if not name.startswith("_")}
    assert {answer.command.replace("-", "_") for answer in asked} == methods - {"plot", "convert"}


def test_a_table_goes_everywhere(demo: Path) -> None:
    table = gpuscope.open(demo).kernels()["kernels"]
    rows = table.rows()
    assert rows and rows[0]["sum_ns"] == table["sum_ns"][0]
    assert table.to_arrow().to_pylist() == rows
    assert table.to_pandas()["sum_ns"].tolist() == table["sum_ns"]
    assert table.to_polars().to_dicts() == rows
    assert {column.name: column.unit for column in table.columns}["sum_ns"] == "ns"
    with pytest.raises(KeyError, match="it has rank"):
        table["no_such_column"]


def test_arrow_is_handed_over_without_a_copy(demo: Path) -> None:
    import pyarrow

    table = gpuscope.open(demo).rank(0).events()
    addresses = [pyarrow.table(table)["ts_ns"].chunk(0).buffers()[1].address for _ in range(2)]
    assert addresses[0] == addresses[1]


def test_events_hold_what_the_file_holds(demo: Path) -> None:
    run = gpuscope.open(demo)
    events = run.rank(1).events(args=True).to_pandas()
    assert {"name", "cat", "ts_ns", "dur_ns", "kind", "launch", "parent", "bytes"} <= set(events.columns)
    gpu = events[events["kind"].notna()]
    by_name = gpu.groupby("name", observed=True)["dur_ns"].sum().to_dict()
    kernels = run.rank(1).kernels()["kernels"].to_pandas()
    assert by_name == kernels.groupby("name")["sum_ns"].sum().to_dict()
    assert set(run.events()) == {rank.number for rank in run.ranks} == {0, 1}


def test_a_rank_is_asked_alone(demo: Path) -> None:
    run = gpuscope.open(demo)
    assert set(run.rank(1).kernels()["kernels"]["rank"]) == {1}
    assert set(run.kernels(rank=0)["kernels"]["rank"]) == {0}
    assert Path(run.rank(1).path).parent == demo
    with pytest.raises(KeyError, match="there are 0, 1"):
        run.rank(7)


def test_selections_mean_what_the_command_line_means(demo: Path) -> None:
    run = gpuscope.open(demo)
    numbers = run.info().data["ranks"][0]["steps"]
    one = run.breakdown(step=numbers[1]).data["ranks"][0]["steps"]
    assert [step["step"] for step in one] == [numbers[1]]
    both = run.breakdown(step=(numbers[0], numbers[1])).data["ranks"][0]["steps"]
    assert [step["step"] for step in both] == numbers[:2]
    assert flags(step=4, from_ns=5, stream=-1, drop_last_step=True) == [
        "--step=4", "--from=5", "--stream=-1", "--drop-last-step",
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ["html", "json", "csv", "parquet", "xlsx", "md", "pdf", "svg", "png"])
def test_answers_save_themselves(demo: Path, tmp_path: Path, ending: str) -> None:
    file = gpuscope.open(demo).temporal().save(tmp_path / f"temporal.{ending}")
    assert file.stat().st_size > 100


def test_pages_and_traces_are_saved_too(demo: Path, tmp_path: Path) -> None:
    run = gpuscope.open(demo)
    assert run.analyze().save(tmp_path / "report.html").read_text().startswith("<!doctype html>")
    run.timeline().save(tmp_path / "timeline.html")
    run.flame().save(tmp_path / "flame.svg")
    second = run.info().data["ranks"][0]["steps"][1]
    run.rank(0).convert(tmp_path / "cut.json.gz", step=second)
    cut = gpuscope.open(tmp_path / "cut.json.gz")
    assert [step["step"] for step in cut.breakdown().data["ranks"][0]["steps"]] == [second]
    folder = tmp_path / "tables"
    folder.mkdir()
    run.kernels().save(folder)
    assert {file.name for file in folder.iterdir()} >= {"kernels.csv", "types.csv"}


def test_figures_are_plotly_figures(demo: Path) -> None:
    import plotly.graph_objects

    run = gpuscope.open(demo)
    figures = run.temporal().figures()
    assert figures and all(isinstance(figure, plotly.graph_objects.Figure) for figure in figures)
    assert run.queue().figures(), "a course is found out where it is drawn"
    charts = gpuscope.charts()
    assert "kernel_types" in charts
    assert isinstance(run.plot("kernel_types"), plotly.graph_objects.Figure)
    with pytest.raises(gpuscope.UsageError, match="there is no such chart"):
        run.plot("kernel_tipes")


def test_a_notebook_shows_tables_and_live_charts(demo: Path) -> None:
    shown = gpuscope.open(demo).temporal()._repr_html_()
    assert "<table" in shown and "<svg" in shown and "Plotly.newPlot" in shown


def test_an_input_that_cannot_be_read_is_an_error_of_files_and_of_values(tmp_path: Path) -> None:
    path = tmp_path / "foreign.json"
    path.write_text("no trace")
    for convention in (gpuscope.GpuscopeError, OSError, ValueError):
        with pytest.raises(convention, match=r"foreign\.json"):
            gpuscope.open(path).kernels().data


def test_errors_name_the_file_and_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(gpuscope.InputError, match=r"nowhere\.json: no such file"):
        gpuscope.open(tmp_path / "nowhere.json").info()
    with pytest.raises(OSError, match="hint:"):
        gpuscope.open(tmp_path / "nowhere.json")
    foreign = tmp_path / "foreign.json"
    foreign.write_text("{}")
    with pytest.raises(gpuscope.InputError, match=r"foreign\.json"):
        gpuscope.open(foreign).info()
    with pytest.raises(gpuscope.UsageError, match="--duration-ratio"):
        small().kernels(duration_ratio=3)
    with pytest.raises(ValueError, match="no input is of that rank"):
        small().kernels(rank=9)
    assert issubclass(gpuscope.MissingDependency, gpuscope.GpuscopeError)


def test_a_gate_says_whether_it_holds(demo: Path) -> None:
    run = gpuscope.open(demo)
    assert not run.diff(run, fail_on="step_time > +3%").found
    assert run.diff(run, fail_on="step_time >= 0ms").found


def test_traces_are_read_once(demo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "rank-0.json"
    copy.write_bytes(next(iter(sorted(demo.glob("rank-0*")))).read_bytes())
    run = gpuscope.open(copy)
    before = run.temporal().data
    copy.write_text("no longer a trace")
    assert run.temporal().data == before
    assert run.kernels().data


def test_loading_is_reading(demo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "rank-0.json"
    copy.write_bytes(next(iter(sorted(demo.glob("rank-0*")))).read_bytes())
    run = gpuscope.open(copy).load()
    copy.write_text("no longer a trace")
    assert run.kernels()["kernels"].rows() == gpuscope.open(demo).rank(0).kernels()["kernels"].rows()
    with pytest.raises(gpuscope.InputError, match=r"rank-0\.json"):
        gpuscope.open(copy).load()


def test_other_threads_run_meanwhile(demo: Path) -> None:
    run = gpuscope.open(demo)
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    run.critical_path()
    run.analyze()
    done.set()
    thread.join()
    assert counted > 5


def test_control_c_ends_the_waiting(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import gpuscope, os, sys, threading
        gpuscope.demo(sys.argv[1], ranks=2, bytes=30_000_000)
        run = gpuscope.open(sys.argv[1])
        threading.Timer(0.05, os.kill, (os.getpid(), 2)).start()
        try:
            for _ in range(1000):
                gpuscope.open(sys.argv[1]).analyze()
        except KeyboardInterrupt:
            print("interrupted")
    """)
    run = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "interrupted", done.stderr


def test_import_needs_nothing() -> None:
    heavy = "('pandas', 'numpy', 'torch', 'plotly', 'polars', 'pyarrow')"
    program = f"import gpuscope, sys; print([m for m in {heavy} if m in sys.modules], len(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded, count = done.stdout.rsplit(maxsplit=1)
    assert loaded == "[]"
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(len(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(count) - int(bare.stdout) < 80, "each module costs time at every start"


def test_the_command_line_is_there(demo: Path) -> None:
    words = [sys.executable, "-m", "gpuscope", "temporal", "--json", str(demo)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["command"] == "temporal"
    script = Path(sys.executable).with_name("gpuscope")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert gpuscope.__version__ in done.stdout
    done = subprocess.run([script, "temporal", "nowhere"], capture_output=True, text=True)
    assert done.returncode == 3 and "nowhere" in done.stderr


def test_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    small().kernels()
    assert signal.getsignal(signal.SIGINT) is before


def test_runs_of_one_name_and_ranks_of_one_run_are_compared(demo: Path) -> None:
    slow = {**KERNEL, "name": "gemm", "ts": 10, "dur": 5}
    change = small().diff(gpuscope.open_events([slow]))
    gemm = next(row for row in change.data["rows"] if row["name"] == "gemm")
    assert gemm["a"]["sum_ns"] == 2_500 and gemm["b"]["sum_ns"] == 5_000
    run = gpuscope.open(demo)
    of_ranks = run.rank(0).diff(run.rank(1)).data
    apart = {row["name"]: row for row in of_ranks["rows"] if row["device"] == "gpu"}
    sums = {row["name"]: row["sum_ns"] for row in run.rank(1).kernels()["kernels"]}
    name = next(name for name in apart if name in sums)
    assert apart[name]["b"]["sum_ns"] == sums[name]
    with pytest.raises(gpuscope.UsageError, match="by number"):
        run.rank(0).diff(small())
    with pytest.raises(gpuscope.UsageError, match="nothing to open"):
        gpuscope.open([])


def test_traces_made_of_others_are_not_read_as_ranks(demo: Path, tmp_path: Path) -> None:
    from gpuscope.hta import TraceAnalysis

    for trace in demo.glob("rank-*"):
        (tmp_path / trace.name).write_bytes(trace.read_bytes())
    before = gpuscope.open(tmp_path).temporal().data
    TraceAnalysis(trace_dir=str(tmp_path)).generate_trace_with_counters(ranks=[0])
    assert len(list(tmp_path.iterdir())) == 3
    assert gpuscope.open(tmp_path).temporal().data == before
    written = next(path for path in tmp_path.iterdir() if "with_counters" in path.name)
    assert gpuscope.open(written).temporal().data["ranks"] == before["ranks"][:1], (
        "a path that is named is read"
    )


def test_the_memory_of_a_profile_is_the_gpus() -> None:
    def taken(device: int, ts: int, total: int) -> dict[str, object]:
        args = {"Device Type": device, "Device Id": 0, "Bytes": total, "Addr": ts, "Total Allocated": total}
        args["Total Reserved"] = 2 * total
        return {
            "ph": "i",
            "s": "t",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": ts,
            "args": args,
        }

    events = [
        {**KERNEL, "name": "gemm", "ts": 10, "dur": 5},
        taken(0, 11, 9_000),
        taken(1, 12, 512),
        taken(1, 13, 256),
    ]
    rank = gpuscope.open_events(events).profile().data["ranks"][0]
    assert rank["peak_memory_bytes"] == 512, "what the host took is not what people run out of"
    assert rank["reserved_memory_bytes"] == 1_024 and rank["gpu_ns"] == 5_000
