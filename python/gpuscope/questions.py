"""Every analysis as a method: what the commands of the command line answer, asked of a run or of one rank."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from gpuscope import _native
from gpuscope._flags import Selection, flags
from gpuscope.answer import Answer
from gpuscope.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gpuscope.run import Rank, Run

__all__ = ["Questions"]

PathName = str | os.PathLike[str]
Weight = Literal["gpu", "host", "bytes"]


class Questions:
    """What can be asked. All methods take the keyword arguments of `Selection`, too."""

    _traces: _native.Traces
    #: What every question of this object is about: the rank, for a rank.
    _about: Mapping[str, Any]

    def _ask(self, command: str, selection: Mapping[str, Any], **options: object) -> Answer:
        words = [command, self._traces.name, *flags(**options), *flags(**{**self._about, **selection})]
        return Answer(self._traces, words)

    def analyze(self, **selection: Unpack[Selection]) -> Answer:
        """Why it is slow and what would help: findings with their gain. `.save("report.html")` writes the report."""
        return self._ask("analyze", selection)

    def info(self, **selection: Unpack[Selection]) -> Answer:
        """What is in the traces: ranks, devices, steps, time span, events by category."""
        return self._ask("info", selection)

    def breakdown(self, *, micro_idle_us: float | None = None, **selection: Unpack[Selection]) -> Answer:
        """Where GPU time went: computation, exposed communication, exposed copies, idle; per rank, device and step."""
        return self._ask("breakdown", selection, micro_idle_us=micro_idle_us)

    def temporal(self, **selection: Unpack[Selection]) -> Answer:
        """Share of time the GPU computed, did something else, or idled."""
        return self._ask("temporal", selection)

    def kernels(
        self,
        *,
        num_kernels: int | None = None,
        duration_ratio: float | None = None,
        exclude_memory: bool = False,
        **selection: Unpack[Selection],
    ) -> Answer:
        """Kernels by time, and which kinds of work overlapped. Given both limits, `num_kernels` decides."""
        options = {
            "num_kernels": num_kernels,
            "duration_ratio": duration_ratio,
            "exclude_memory": exclude_memory,
        }
        return self._ask("kernels", selection, **options)

    def overlap(self, **selection: Unpack[Selection]) -> Answer:
        """How much communication was hidden behind computation."""
        return self._ask("overlap", selection)

    def idle(
        self, *, consecutive_kernel_delay_us: float | None = None, **selection: Unpack[Selection]
    ) -> Answer:
        """What idle GPUs waited for, and what the host did meanwhile."""
        return self._ask("idle", selection, consecutive_kernel_delay_us=consecutive_kernel_delay_us)

    def launches(
        self,
        *,
        runtime_cutoff_us: float | None = None,
        launch_delay_cutoff_us: float | None = None,
        **selection: Unpack[Selection],
    ) -> Answer:
        """Each launch: time in the call, on the GPU, and between."""
        options = {"runtime_cutoff_us": runtime_cutoff_us, "launch_delay_cutoff_us": launch_delay_cutoff_us}
        return self._ask("launches", selection, **options)

    def queue(
        self, *, series: bool = False, max_queue_length: int | None = None, **selection: Unpack[Selection]
    ) -> Answer:
        """How much work waited for the GPU, stream by stream."""
        return self._ask("queue", selection, series=series, max_queue_length=max_queue_length)

    def bandwidth(self, *, series: bool = False, **selection: Unpack[Selection]) -> Answer:
        """How fast copies went, kind by kind."""
        return self._ask("bandwidth", selection, series=series)

    def phases(self, **selection: Unpack[Selection]) -> Answer:
        """GPU time by phase: forward, backward, recomputation, gradients, optimizer, data."""
        return self._ask("phases", selection)

    def layers(self, *, depth: int | None = None, **selection: Unpack[Selection]) -> Answer:
        """GPU time of each module of the model, forward and backward apart, as a tree."""
        return self._ask("layers", selection, depth=depth)

    def throughput(
        self,
        *,
        depth: int | None = None,
        models: PathName | None = None,
        tokens_per_step: float | None = None,
        samples_per_step: float | None = None,
        **selection: Unpack[Selection],
    ) -> Answer:
        """TFLOP/s of each module of the model, forward and backward apart; tokens and samples per second."""
        options = {"depth": depth, "models": models, "tokens_per_step": tokens_per_step}
        return self._ask("throughput", selection, samples_per_step=samples_per_step, **options)

    def stacks(
        self,
        *,
        filter: str | None = None,
        depth: int | None = None,
        all: bool = False,
        by: Weight | None = None,
        min_us: float | None = None,
        thread: str | int | None = None,
        link_backward: bool = False,
        **selection: Unpack[Selection],
    ) -> Answer:
        """Which lines of the program put the work on the GPU: the call tree, equal paths merged."""
        options = {"filter": filter, "depth": depth, "all": all, "by": by, "min_us": min_us, "thread": thread}
        return self._ask("stacks", selection, link_backward=link_backward, **options)

    def flame(
        self,
        *,
        by: Weight | None = None,
        stacks: Literal["python", "modules", "operators"] | None = None,
        against: PathName | None = None,
        min_duration_us: float | None = None,
        max_depth: int | None = None,
        small_kernels_us: float | None = None,
        order: Literal["heavy", "time"] | None = None,
        upwards: bool = False,
        **selection: Unpack[Selection],
    ) -> Answer:
        """The call tree as a flame graph: `.save("flame.html")`, .svg, .png, .pdf, .collapsed, .speedscope.json."""
        options = {"by": by, "stacks": stacks, "against": against, "min_duration_us": min_duration_us}
        drawing = {"small_kernels_us": small_kernels_us, "order": order, "upwards": upwards}
        return self._ask("flame", selection, max_depth=max_depth, **options, **drawing)

    def patterns(
        self,
        *,
        operator: str | None = None,
        min_pattern_len: int | None = None,
        top_k: int | None = None,
        **selection: Unpack[Selection],
    ) -> Answer:
        """Sequences of kernels that an operator launches again and again."""
        options = {"operator": operator, "min_pattern_len": min_pattern_len, "top_k": top_k}
        return self._ask("patterns", selection, **options)

    def op_kernels(self, **selection: Unpack[Selection]) -> Answer:
        """What each operator launches, and how long it takes to get there."""
        return self._ask("op-kernels", selection)

    def ops(
        self,
        *,
        by: Literal["category", "name", "args"] | None = None,
        top: int | None = None,
        kernels: bool = False,
        overlap: bool = False,
        recompute: bool = False,
        short_kernels_us: float | None = None,
        gpu: str | None = None,
        peak: str | None = None,
        models: PathName | None = None,
        model_flops: float | None = None,
        tokens_per_step: float | None = None,
        **selection: Unpack[Selection],
    ) -> Answer:
        """Which operators took the GPU's time, by category, name or arguments, beside what the GPU could do."""
        rows = {"by": by, "top": top, "kernels": kernels, "overlap": overlap, "recompute": recompute}
        work = {"gpu": gpu, "peak": peak, "models": models, "model_flops": model_flops}
        more = {"short_kernels_us": short_kernels_us, "tokens_per_step": tokens_per_step}
        return self._ask("ops", selection, **rows, **work, **more)

    def memory(self, *, series: bool = False, **selection: Unpack[Selection]) -> Answer:
        """How much memory was taken, when most, and by whom."""
        return self._ask("memory", selection, series=series)

    def counters(self, **selection: Unpack[Selection]) -> Answer:
        """What hardware counters measured, operator by operator."""
        return self._ask("counters", selection)

    def annotations(
        self, *, gpu: bool = False, cpu: bool = False, kernels: bool = False, **selection: Unpack[Selection]
    ) -> Answer:
        """How long the stretches took that somebody named."""
        return self._ask("annotations", selection, gpu=gpu, cpu=cpu, kernels=kernels)

    def critical_path(
        self,
        *,
        annotation: str | None = None,
        instance: int | tuple[int, int] | None = None,
        **selection: Unpack[Selection],
    ) -> Answer:
        """What would have to be faster for a step to be faster: the chain of waiting from its end to its start.

        `.save("marked.json.gz")` writes the trace with the path marked, for a viewer.
        """
        return self._ask("critical-path", selection, annotation=annotation, instance=instance)

    def timeline(self, **selection: Unpack[Selection]) -> Answer:
        """When did what run: host and GPU activity. `.save("timeline.html")` writes every event to look at."""
        return self._ask("timeline", selection)

    def plot(
        self,
        name: str,
        *,
        top: int | None = None,
        depth: int | None = None,
        gpu: str | None = None,
        **selection: Unpack[Selection],
    ) -> Any:
        """One chart as a plotly figure; `gpuscope.charts()` names them. Several for each rank become a list."""
        words = ["plot", name, self._traces.name, *flags(top=top, depth=depth, gpu=gpu)]
        words += flags(**{**self._about, **selection})
        from gpuscope.answer import figures_of

        figures = figures_of(self._traces.ask(words, "figures").charts)
        return figures[0] if len(figures) == 1 else figures

    def collectives(self, *, gpus_per_node: int | None = None, **selection: Unpack[Selection]) -> Answer:
        """Each collective over all ranks: waiting and transfer apart, bandwidth, who came last and why."""
        return self._ask("collectives", selection, gpus_per_node=gpus_per_node)

    def stragglers(self, **selection: Unpack[Selection]) -> Answer:
        """Which rank holds the others up, how often, and why."""
        return self._ask("stragglers", selection)

    def inference(self, *, capture: Sequence[PathName] = (), **selection: Unpack[Selection]) -> Answer:
        """How an inference server spends its GPU: prefill and decode, the steady state, what graphs replay."""
        return self._ask("inference", selection, capture=[os.fspath(path) for path in capture])

    def whatif(
        self,
        *,
        scale: Mapping[str, float] | Iterable[str] = (),
        no_launch_overhead: bool = False,
        no_sync: bool = False,
        rank_as_median: int | None = None,
        perfect_overlap: str | None = None,
        **selection: Unpack[Selection],
    ) -> Answer:
        """How long a step would take if something were different: `scale={"nccl.*": 0.5}`."""
        if isinstance(scale, Mapping):
            scale = [f"{names}={factor}" for names, factor in scale.items()]
        changes = {"scale": list(scale), "no_launch_overhead": no_launch_overhead, "no_sync": no_sync}
        others = {"rank_as_median": rank_as_median, "perfect_overlap": perfect_overlap}
        return self._ask("whatif", selection, **changes, **others)

    def profile(self, **selection: Unpack[Selection]) -> Answer:
        """The recording at a glance: time on the GPU and on the host, memory, kernels, and what to do."""
        return self._ask("profile", selection)

    def hta(self, **selection: Unpack[Selection]) -> Answer:
        """Every breakdown of all ranks in one report, what holds the job up, and what to do."""
        return self._ask("hta", selection)

    def check(self, **selection: Unpack[Selection]) -> Answer:
        """What is wrong with the data; `.found` if anything is an error."""
        return self._ask("check", selection)

    def diff(self, other: Run | Rank | PathName, *, tree: bool = False, fail_on: str | None = None) -> Answer:
        """What changed from this run, or rank, to another: every event name, or with `tree` every call path."""
        from gpuscope.run import open

        theirs = open(other) if isinstance(other, str | os.PathLike) else other
        traces = theirs._traces
        before, after = self._about.get("rank"), theirs._about.get("rank")
        if before != after:
            if traces is not self._traces or before is None or after is None or tree:
                raise UsageError("ranks of two runs are compared by number: a.rank(3).diff(b.rank(3))")
            flagged = flags(rank=after, against=before, fail_on=fail_on)
            return Answer(self._traces, ["diff", self._traces.name, *flagged])
        # Two runs of one name are two runs all the same.
        if traces is not self._traces and traces.name == self._traces.name:
            traces = traces.renamed(f"{traces.name} (2)")
        words = [
            "diff",
            self._traces.name,
            traces.name,
            *flags(tree=tree, fail_on=fail_on),
            *flags(**self._about),
        ]
        return Answer(self._traces, words, [traces])

    def convert(
        self,
        output: PathName,
        *,
        add: Iterable[Literal["queue", "bandwidth", "critical-path", "patterns"]] = (),
        anonymize: bool = False,
        **selection: Unpack[Selection],
    ) -> Path:
        """Write the traces anew: cut, with counters, anonymised, or in another compression."""
        words = ["convert", self._traces.name, *flags(output=output, add=list(add), anonymize=anonymize)]
        self._traces.text([*words, *flags(**{**self._about, **selection})])
        from pathlib import Path

        return Path(output)
