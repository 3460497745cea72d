"""Flame graphs, timelines and reports of traces: no torch is needed for them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpuscope
from gpuscope.errors import GpuscopeError, InputError, UsageError
from gpuscope.profiling import FlameGraphGenerator, HTAAnalyzer, TimelineGenerator
from gpuscope.profiling.hta_integration import HTAReport
from gpuscope.profiling.timeline import shown_events

Event = dict[str, Any]


def slice_of(name: str, cat: str, ts: float, dur: float, tid: int = 1, **args: object) -> Event:
    pid = 0 if cat == "kernel" else 100
    return {"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args}


def launched(
    name: str, ts: float, dur: float, gpu_ts: float, gpu_dur: float, correlation: int
) -> list[Event]:
    """An operator, its launch, its kernel and the arrow between the two."""
    where = {"device": 0, "stream": 7, "correlation": correlation}
    arrow = {"cat": "ac2g", "name": "ac2g", "id": correlation}
    return [
        slice_of(f"aten::{name}", "cpu_op", ts, dur, **{"External id": correlation}),
        slice_of(
            "cudaLaunchKernel", "cuda_runtime", ts + 1, dur - 2, **{**where, "External id": correlation}
        ),
        {"ph": "s", "pid": 100, "tid": 1, "ts": ts + 1, **arrow},
        slice_of(f"{name}_kernel", "kernel", gpu_ts, gpu_dur, tid=7, **{**where, "External id": correlation}),
        {"ph": "f", "bp": "e", "pid": 0, "tid": 7, "ts": gpu_ts, **arrow},
    ]


@pytest.fixture
def gpu_trace(tmp_path: Path) -> Path:
    """40 µs in which the host works for 20 and the GPU for 24, 6 of them at the same time."""
    events = [
        slice_of("train.py(1): step", "python_function", 0, 40),
        *launched("mm", 0, 10, 12, 20, 1),
        *launched("add", 28, 10, 36, 4, 2),
    ]
    path = tmp_path / "rank0.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.fixture
def cpu_trace(tmp_path: Path) -> Path:
    """100 µs, of which one operator takes 60 and the one within it 20 of these."""
    events = [
        slice_of("train.py(1): step", "python_function", 0, 100),
        slice_of("aten::linear", "cpu_op", 10, 60),
        slice_of("aten::addmm", "cpu_op", 20, 20),
    ]
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def boxes(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for child in tree["children"]:
        yield child
        yield from boxes(child)


def depth(tree: dict[str, Any]) -> int:
    return 1 + max((depth(child) for child in tree["children"]), default=0)


class TestFlameGraph:
    def test_is_a_tree_of_gpu_time(self, gpu_trace: Path) -> None:
        data = FlameGraphGenerator(group_small_kernels=False).from_chrome_trace(gpu_trace)
        assert data["by"] == "gpu"
        assert data["value"] == data.total_us == 24.0
        kernels = {box["name"]: box["value"] for box in boxes(data) if box["kind"] == "kernel"}
        assert kernels == {"mm_kernel": 20.0, "add_kernel": 4.0}
        for box in boxes(data):
            assert box["value"] == pytest.approx(
                box["own"] + sum(child["value"] for child in box["children"])
            )

    def test_agrees_with_the_command_line(self, demo: Path) -> None:
        data = FlameGraphGenerator().from_chrome_trace(demo)
        assert data.total_us * 1000 == pytest.approx(gpuscope.open(demo).flame().data["total_ns"])

    def test_without_a_gpu_it_is_of_host_time(self, cpu_trace: Path) -> None:
        data = FlameGraphGenerator().from_chrome_trace(cpu_trace)
        assert data["by"] == "host"
        own = {box["name"]: box["own"] for box in boxes(data)}
        assert (own["aten::linear"], own["aten::addmm"]) == (40.0, 20.0)

    def test_short_boxes_are_joined(self, gpu_trace: Path) -> None:
        names = {
            box["name"]
            for box in boxes(FlameGraphGenerator(min_duration_us=10.0).from_chrome_trace(gpu_trace))
        }
        assert "mm_kernel" in names
        assert "add_kernel" not in names

    def test_depth_is_limited(self, gpu_trace: Path) -> None:
        deep = FlameGraphGenerator().from_chrome_trace(gpu_trace)
        flat = FlameGraphGenerator(max_depth=2).from_chrome_trace(gpu_trace)
        assert depth(deep) > depth(flat) == 3  # the root and two levels
        assert flat["value"] == deep["value"]

    def test_small_kernels_are_grouped(self, tmp_path: Path) -> None:
        events = [slice_of("aten::foreach", "cpu_op", 0, 100, **{"External id": 1})]
        for number in range(1, 6):
            where = {"device": 0, "stream": 7, "correlation": number, "External id": 1}
            events.append(slice_of("cudaLaunchKernel", "cuda_runtime", 10 * number, 5, **where))
            events.append(slice_of(f"tiny_{number}", "kernel", 10 * number + 6, 1, tid=7, **where))
        path = tmp_path / "small.json"
        path.write_text(json.dumps({"traceEvents": events}))
        single = FlameGraphGenerator(group_small_kernels=False).from_chrome_trace(path)
        assert sum(box["kind"] == "kernel" for box in boxes(single)) == 5
        grouped = FlameGraphGenerator(group_small_kernels=True).from_chrome_trace(path)
        assert sum(box["name"].startswith("tiny_") for box in boxes(grouped)) < 5

    @pytest.mark.parametrize(
        ("format", "begins"),
        [
            ("html", b"<!doctype html"),
            ("svg", b"<svg"),
            ("folded", b""),
            ("speedscope", b"{"),
            ("json", b"{"),
        ],
    )
    def test_is_written_in_every_format(
        self, gpu_trace: Path, tmp_path: Path, format: str, begins: bytes
    ) -> None:
        generator = FlameGraphGenerator()
        data = generator.from_chrome_trace(gpu_trace)
        path = generator.export(data, tmp_path / "new" / "flame.out", format=format)
        content = path.read_bytes()
        assert b"mm" in content
        assert content.lstrip().lower().startswith(begins)
        if format == "json":
            assert json.loads(content) == data
        if format == "speedscope":
            assert "speedscope.app" in json.loads(content)["$schema"]
        if format == "folded":
            assert all(line.rsplit(b" ", 1)[1].isdigit() for line in content.splitlines())

    def test_the_ending_decides_unless_told(self, gpu_trace: Path, tmp_path: Path) -> None:
        generator = FlameGraphGenerator()
        data = generator.from_chrome_trace(gpu_trace)
        written = generator.export(data, tmp_path / "x.speedscope.json").read_text()
        assert "speedscope" in json.loads(written)["$schema"]
        with pytest.raises(UsageError, match=r"x\.abc.*\.html"):
            generator.export(data, tmp_path / "x.abc")
        with pytest.raises(UsageError, match="'tiff' is not known"):
            generator.export(data, tmp_path / "x.html", format="tiff")

    def test_a_tree_read_back_is_no_picture(self, gpu_trace: Path, tmp_path: Path) -> None:
        generator = FlameGraphGenerator()
        plain = json.loads(json.dumps(generator.from_chrome_trace(gpu_trace)))
        assert generator.export(plain, tmp_path / "again.json").exists()
        with pytest.raises(UsageError, match="from_chrome_trace"):
            generator.export(plain, tmp_path / "again.html")

    def test_arguments_are_checked(self) -> None:
        with pytest.raises(UsageError, match="min_duration_us is -1"):
            FlameGraphGenerator(min_duration_us=-1)
        with pytest.raises(UsageError, match="max_depth is 0"):
            FlameGraphGenerator(max_depth=0)

    def test_a_missing_trace_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"nowhere\.json"):
            FlameGraphGenerator().from_chrome_trace(tmp_path / "nowhere.json")


class TestTimeline:
    def test_counts_host_gpu_and_both(self, gpu_trace: Path) -> None:
        timeline = TimelineGenerator().from_chrome_trace(gpu_trace)
        assert timeline.total_time_us == 40.0
        assert timeline.cpu_active_time_us == 20.0
        assert timeline.gpu_active_time_us == 24.0
        assert timeline.overlap_time_us == 6.0

    def test_filters_change_what_is_shown_and_not_the_times(self, gpu_trace: Path) -> None:
        whole = TimelineGenerator().from_chrome_trace(gpu_trace)
        part = TimelineGenerator(min_duration_us=8.5, include_python_events=False).from_chrome_trace(
            gpu_trace
        )
        assert part.to_dict() == whole.to_dict()
        assert len(whole.events) == 11
        assert [event["name"] for event in part.events] == ["aten::mm", "mm_kernel", "aten::add"]

    def test_arrows_of_hidden_slices_go_with_them(self, gpu_trace: Path) -> None:
        events = TimelineGenerator(min_duration_us=5.0).from_chrome_trace(gpu_trace).events
        assert [(event["ph"], event["id"]) for event in events if event["ph"] in "sf"] == [("s", 1), ("f", 1)]

    def test_python_functions_are_left_out_on_request(self, gpu_trace: Path) -> None:
        assert any(
            event["cat"] == "python_function"
            for event in TimelineGenerator().from_chrome_trace(gpu_trace).events
        )
        without = TimelineGenerator(include_python_events=False).from_chrome_trace(gpu_trace)
        assert not any(event["cat"] == "python_function" for event in without.events)

    def test_metadata_and_odd_events_stay(self) -> None:
        odd: list[Event] = [
            {"ph": "M", "name": "process_name"},
            {"ph": "X", "name": "no duration"},
            {"ph": "C", "ts": 1},
            {},
        ]
        assert shown_events(odd, 0.0, False) == odd
        assert odd[1] not in shown_events(odd, 1.0, True)

    @pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
    def test_the_written_trace_reads_back(self, gpu_trace: Path, tmp_path: Path, name: str) -> None:
        generator = TimelineGenerator(min_duration_us=5.0)
        path = generator.export_chrome_trace(generator.from_chrome_trace(gpu_trace), tmp_path / "new" / name)
        text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        document = json.loads(text)
        assert document["schemaVersion"] == 1
        assert [row["name"] for row in gpuscope.open(path).kernels().data["kernels"]] == ["mm_kernel"]

    def test_the_page_shows_what_is_not_hidden(self, gpu_trace: Path, tmp_path: Path) -> None:
        pages = []
        for generator in (TimelineGenerator(), TimelineGenerator(min_duration_us=5.0)):
            path = generator.generate_html_viewer(generator.from_chrome_trace(gpu_trace), tmp_path / "t.html")
            pages.append(path.read_bytes())
            assert pages[-1].lower().startswith(b"<!doctype html")
        assert pages[0] != pages[1]

    def test_a_list_of_events_is_a_trace_too(self, gpu_trace: Path, tmp_path: Path) -> None:
        bare = tmp_path / "bare.json"
        bare.write_text(json.dumps(json.loads(gpu_trace.read_text())["traceEvents"]))
        assert len(TimelineGenerator().from_chrome_trace(bare).events) == 11

    def test_a_truncated_trace_says_what_to_do(self, corpus: Path) -> None:
        timeline = TimelineGenerator(min_duration_us=1.0).from_chrome_trace(corpus / "synth_truncated.json")
        assert timeline.total_time_us > 0
        with pytest.raises(InputError, match=r"synth_truncated\.json.*gpuscope convert"):
            timeline.events

    def test_a_folder_has_times_and_a_page_but_no_single_file_of_events(
        self, demo: Path, tmp_path: Path
    ) -> None:
        timeline = TimelineGenerator().from_chrome_trace(demo)
        ranks = gpuscope.open(demo).timeline().data["ranks"]
        assert timeline.gpu_active_time_us * 1000 == pytest.approx(
            sum(rank["gpu_active_ns"] for rank in ranks)
        )
        assert TimelineGenerator().generate_html_viewer(timeline, tmp_path / "job.html").exists()
        with pytest.raises(InputError, match="event by event"):
            timeline.events

    def test_arguments_are_checked(self) -> None:
        with pytest.raises(UsageError, match="min_duration_us is -2"):
            TimelineGenerator(min_duration_us=-2)


class TestReport:
    def test_has_the_shares_and_kernels_of_the_command_line(self, demo: Path) -> None:
        report = HTAAnalyzer().analyze_trace(demo)
        data = gpuscope.open(demo).hta().data
        assert report.device == "gpu"
        assert report.gpu_idle_time_pct == data["gpu_idle_time_pct"]
        assert report.compute_time_pct == data["compute_time_pct"]
        assert report.communication_time_pct == data["communication_time_pct"]
        assert [kernel["name"] for kernel in report.top_kernels] == [
            row["name"] for row in data["top_kernels"]
        ]
        assert report.top_kernels[0]["time_us"] == data["top_kernels"][0]["time_ns"] / 1000
        assert report.bottlenecks == data["bottlenecks"]
        assert len(report.ranks) == 2
        shares = (report.gpu_idle_time_pct, report.compute_time_pct, report.communication_time_pct)
        assert sum(shares) + report.memcpy_time_pct == pytest.approx(100)

    def test_without_a_gpu_the_cpu_stands_in_and_says_so(self, cpu_trace: Path) -> None:
        report = HTAAnalyzer().analyze_trace(cpu_trace)
        assert report.device == "cpu"
        assert any("no GPU work" in note for note in report.notes)
        assert (report.compute_time_pct, report.gpu_idle_time_pct) == (60.0, 40.0)
        assert [(kernel["name"], kernel["time_us"]) for kernel in report.top_kernels] == [
            ("aten::linear", 40.0),
            ("aten::addmm", 20.0),
        ]
        assert any("aten::linear takes 67 %" in text for text in report.bottlenecks)
        assert any("40 % of the time passed outside" in text for text in report.bottlenecks)

    @pytest.mark.parametrize("trace", ["gpu_trace", "cpu_trace"])
    def test_is_written_in_every_format(
        self, trace: str, tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        analyzer = HTAAnalyzer()
        report = analyzer.analyze_trace(request.getfixturevalue(trace))
        page = analyzer.export_report(report, tmp_path / "r" / "report.html", format="html").read_text()
        assert page.lower().startswith("<!doctype html")
        assert report.top_kernels[0]["name"] in page
        written = json.loads(analyzer.export_report(report, tmp_path / "report.json").read_text())
        assert written == report.to_dict()
        markdown = analyzer.export_report(report, tmp_path / "report.txt", format="md").read_text()
        assert f"`{report.top_kernels[0]['name']}`" in markdown
        with pytest.raises(UsageError, match="'docx' is not known; use one of html, json, md"):
            analyzer.export_report(report, tmp_path / "report.docx", format="docx")

    def test_leaves_reports_in_its_folder(self, gpu_trace: Path, tmp_path: Path) -> None:
        HTAAnalyzer(output_dir=tmp_path / "hta").analyze_trace(gpu_trace)
        assert sorted(path.name for path in (tmp_path / "hta").iterdir()) == [
            "rank0.hta.html",
            "rank0.hta.json",
        ]

    def test_a_report_made_by_hand_is_a_page_too(self, tmp_path: Path) -> None:
        report = HTAReport(compute_time_pct=1.5, bottlenecks=["<slow>"])
        page = HTAAnalyzer().export_report(report, tmp_path / "hand.html").read_text()
        assert "&lt;slow&gt;" in page
        assert "<slow>" not in page


def test_what_is_no_trace_is_named(corpus: Path) -> None:
    path = corpus / "synth_not_a_trace.json"
    for ask in (
        FlameGraphGenerator().from_chrome_trace,
        TimelineGenerator().from_chrome_trace,
        HTAAnalyzer().analyze_trace,
    ):
        with pytest.raises(GpuscopeError, match=r"synth_not_a_trace\.json"):
            ask(path)
