"""All questions about the traces of a job in one place: the class that HTA's users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Flag, auto
from pathlib import Path
from typing import TYPE_CHECKING

from gpuscope.errors import UsageError

from . import _figures
from ._figures import show
from ._writing import folder_for, write_counters
from .analyzers import (
    annotation_analysis,
    breakdown_analysis,
    critical_path_analysis,
    cuda_kernel_analysis,
    cupti_counter_analysis,
    frequent_sequences,
    idle_analysis,
    straggler_analysis,
    trace_counters,
)
from .common.trace import Trace

if TYPE_CHECKING:
    import pandas as pd

    from ._inputs import StrPath, TraceFiles
    from ._writing import Counter
    from .analyzers.critical_path_analysis import CPGraph
    from .analyzers.straggler_analysis import Identification


class TimeSeriesTypes(Flag):
    """What :meth:`TraceAnalysis.generate_trace_with_counters` can add."""

    QUEUE_LENGTH = auto()
    MEMCPY_BANDWIDTH = auto()


class TraceAnalysis:
    """The traces of a job, and what can be asked about them.

    Tables are pandas data frames with HTA's columns, times are microseconds. ``ranks=None`` means all ranks.
    ``visualize=True`` shows plotly figures, in notebooks or with the renderer that plotly is set to; outside
    of notebooks no browser is opened unless ``image_renderer="browser"`` or ``PLOTLY_RENDERER`` says so.

    Attributes:
        t: the traces themselves, with ``get_ranks()``, ``get_trace(rank)``, ``get_iterations(rank)`` …
    """

    def __init__(
        self,
        trace_files: TraceFiles | None = None,
        trace_dir: StrPath | None = None,
        include_last_profiler_step: bool | None = False,
    ) -> None:
        """Read traces.

        Args:
            trace_files: the files, or a dict from ranks to files. Relative paths are looked for in
                ``trace_dir``.
            trace_dir: a folder with one trace per rank.
            include_last_profiler_step: count the last ``ProfilerStep#N`` too. By default it is left out of
                every answer, because the GPU's part of it may not have been recorded whole. With one step or
                none, everything counts.
        """
        self.t = Trace(trace_files, trace_dir)
        self.t.load_traces(include_last_profiler_step)

    def get_temporal_breakdown(self, visualize: bool = True) -> pd.DataFrame:
        """The time each rank's GPU computed, did something else, or idled.

        Returns:
            One row per rank: ``rank``, ``idle_time(us)``, ``compute_time(us)``, ``non_compute_time(us)``,
            ``kernel_time(us)`` (from the first GPU event to the last), and the first three in percent of it
            as ``idle_time_pctg``, ``compute_time_pctg``, ``non_compute_time_pctg``.
        """
        frame = breakdown_analysis.temporal_breakdown(self.t)
        if visualize:
            show(lambda: _figures.temporal(frame))
        return frame

    def get_idle_time_breakdown(
        self,
        ranks: Sequence[int] | None = None,
        streams: Sequence[int] | None = None,
        visualize: bool = True,
        visualize_pctg: bool = True,
        show_idle_interval_stats: bool = False,
        consecutive_kernel_delay: float = 30,
    ) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """What each stream waited for while it was idle.

        ``host_wait``: the launch had not begun when the stream ran empty. ``kernel_wait``: it had, and the
        gap is shorter than ``consecutive_kernel_delay`` microseconds. ``other``: something else, such as an
        event of another stream.

        Returns:
            ``rank``, ``stream``, ``idle_category``, ``idle_time`` (us), ``idle_time_ratio`` (of the stream's
            idle time), ``count`` (of gaps), and ``device`` if a rank has several; and with
            ``show_idle_interval_stats`` the statistics of gaps in microseconds, by rank, stream and category,
            else ``None``.
        """
        asked = (self.t, self.t.asked(ranks), streams, consecutive_kernel_delay)
        frame = idle_analysis.idle_time_breakdown(*asked)
        if visualize:
            show(lambda: _figures.idle(frame, as_pct=visualize_pctg))
        return frame, idle_analysis.idle_interval_statistics(*asked) if show_idle_interval_stats else None

    def get_gpu_kernel_breakdown(
        self,
        visualize: bool = True,
        duration_ratio: float | None = None,
        num_kernels: int | None = None,
        include_memory_kernels: bool = True,
        image_renderer: str = "",
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Where GPU time went: by kind of work over all ranks, and by kernel on each rank.

        Args:
            visualize: show a pie of the kinds, pies of the kernels of each rank and kind, and bars of the
                mean duration of each kernel over the ranks, with whiskers from the shortest to the longest.
            duration_ratio: list the fewest kernels of each rank and kind that make up this share of its time.
            num_kernels: list this many kernels of each rank and kind; decides if both are given.
                With neither, both of HTA's limits hold, 10 kernels and 0.8 of the time, for kinds with more
                than 10 kernels. What is not listed is summed up as ``others``.
            include_memory_kernels: count copies and memory sets too.
            image_renderer: plotly's renderer, such as ``notebook``, ``jupyterlab`` or ``png``.

        Returns:
            ``kernel_type``, ``sum`` (us), ``percentage``; and ``name``, ``sum (us)``, ``max (us)``, ``min
            (us)``, ``stddev``, ``mean (us)``, ``kernel_type``, ``rank``, ``count``.
        """
        limits = (duration_ratio, num_kernels, include_memory_kernels)
        types, kernels = breakdown_analysis.kernel_breakdown(self.t, *limits)
        if visualize:
            show(lambda: _figures.kernel_breakdown(types, kernels), image_renderer)
        return types, kernels

    def get_gpu_user_annotation_breakdown(
        self,
        use_gpu_annotation: bool = True,
        visualize: bool = True,
        duration_ratio: float | None = None,
        num_kernels: int | None = None,
        allowlist_patterns: Sequence[str] | None = None,
        image_renderer: str | None = None,
    ) -> pd.DataFrame | None:
        """How long the stretches took that somebody named, on the GPU or on the host.

        Limits work as in :meth:`get_gpu_kernel_breakdown`, with 1000 annotations in the place of 10 kernels.
        Annotations that a regular expression of ``allowlist_patterns`` finds are always listed.

        Returns:
            ``name``, ``sum (us)``, ``max (us)``, ``min (us)``, ``stddev``, ``mean (us)``, ``rank``,
            ``count``; ``None`` if there are no such annotations.
        """
        limits = (duration_ratio, num_kernels, allowlist_patterns)
        frame = breakdown_analysis.annotation_breakdown(self.t, use_gpu_annotation, *limits)
        if visualize and frame is not None:
            show(lambda: _figures.annotation_breakdown(frame), image_renderer)
        return frame

    def get_gpu_kernels_with_user_annotations(
        self,
        rank: int,
        expand_names: bool = True,
        shorten_names: bool = True,
        *,
        shortern_names: bool | None = None,
    ) -> pd.DataFrame | None:
        """The GPU events of a rank, each with the annotation on its stream that it began under.

        Where several hold it, the one that began last counts. ``expand_names`` adds ``s_name``, ``s_cat`` and
        ``s_user_annotation`` to the numbers of names; ``shorten_names`` (HTA 0.5 spells it
        ``shortern_names``) leaves out arguments of templates and functions there.

        Returns:
            The columns of ``t.get_trace(rank)`` and ``user_annotation``; ``None`` without annotations on the
            GPU.
        """
        short = shorten_names if shortern_names is None else shortern_names
        return annotation_analysis.kernels_with_user_annotations(self.t, rank, expand_names, short)

    def get_comm_comp_overlap(self, visualize: bool = True) -> pd.DataFrame:
        """How much of each rank's communication ran beside computation.

        Returns:
            ``rank``, ``comp_comm_overlap_pctg`` (not a number for ranks that did not communicate).
        """
        frame = breakdown_analysis.comm_comp_overlap(self.t)
        if visualize:
            show(lambda: _figures.overlap(frame))
        return frame

    def get_queue_length_time_series(self, ranks: Sequence[int] | None = None) -> dict[int, pd.DataFrame]:
        """How many launched events had not begun, stream by stream, after each change.

        Returns:
            By rank: ``ts`` (us since the job's first event), ``pid``, ``tid``, ``stream``, ``queue_length``.
        """
        return trace_counters.queue_length_time_series(self.t, self.t.asked(ranks))

    #: HTA's documentation has this name too.
    get_queue_length_series = get_queue_length_time_series

    def get_queue_length_summary(self, ranks: Sequence[int] | None = None) -> pd.DataFrame | None:
        """Statistics of the queue's points, by rank and stream; ``None`` if nothing was launched."""
        return trace_counters.queue_length_summary(self.get_queue_length_time_series(ranks))

    def get_queue_length_summary_from_time_series(
        self, queue_length_dict: Mapping[int, pd.DataFrame]
    ) -> pd.DataFrame | None:
        """The same statistics of what :meth:`get_queue_length_time_series` returned."""
        return trace_counters.queue_length_summary(queue_length_dict)

    def get_time_spent_blocked_on_full_queue(
        self,
        queue_length_dict: Mapping[int, pd.DataFrame],
        max_queue_length: int = trace_counters.CUDA_MAX_LAUNCH_QUEUE_PER_STREAM,
    ) -> pd.DataFrame | None:
        """How long the queue of each stream was full, so that further launches had to wait.

        Returns:
            ``rank``, ``stream``, ``duration_at_max_queue_length`` (us),
            ``relative_duration_at_max_queue_length`` (of the trace) for every stream that was full at least
            once; ``None`` if none was.
        """
        return trace_counters.time_blocked_on_full_queue(self.t, queue_length_dict, max_queue_length)

    def get_memory_bw_time_series(self, ranks: Sequence[int] | None = None) -> dict[int, pd.DataFrame]:
        """The bandwidth of the copies and memory sets under way, after each change.

        Returns:
            By rank: ``ts`` (us since the job's first event), ``pid``, ``name`` (the kind),
            ``memory_bw_gbps``.
        """
        return trace_counters.memory_bw_time_series(self.t, self.t.asked(ranks))

    def get_memory_bw_summary(self, ranks: Sequence[int] | None = None) -> pd.DataFrame | None:
        """Statistics of bandwidths by rank and kind of copy, weighted by time; ``None`` without copies."""
        return trace_counters.memory_bw_summary(self.t, self.t.asked(ranks))

    def generate_trace_with_counters(
        self,
        time_series: TimeSeriesTypes | None = None,
        ranks: Sequence[int] | None = None,
        output_suffix: str = "_with_counters",
        output_dir: StrPath | None = None,
    ) -> None:
        """Write traces that also show queue lengths and bandwidths, for a viewer.

        Args:
            time_series: which; both by default.
            ranks: of which ranks.
            output_suffix: what the name of a file has more than that of its input.
            output_dir: where to; beside the input by default. Such files are not read again with the folder.
        """
        both = TimeSeriesTypes.QUEUE_LENGTH | TimeSeriesTypes.MEMCPY_BANDWIDTH
        wanted = both if time_series is None else time_series
        add: list[Counter] = []
        if TimeSeriesTypes.QUEUE_LENGTH in wanted:
            add.append("queue")
        if TimeSeriesTypes.MEMCPY_BANDWIDTH in wanted:
            add.append("bandwidth")
        for rank in self.t.asked(ranks):
            write_counters(self.t, rank, add, output_suffix or "_with_counters", output_dir)

    def get_cuda_kernel_launch_stats(
        self,
        ranks: Sequence[int] | None = None,
        runtime_cutoff: float = 50,
        launch_delay_cutoff: float = 100,
        include_memory_events: bool = True,
        visualize: bool = True,
    ) -> dict[int, pd.DataFrame]:
        """For each launch the time in the call, on the GPU, and from the end of the call to the start on the
        GPU.

        Figures show kernels shorter than their call, calls above ``runtime_cutoff`` and delays above
        ``launch_delay_cutoff`` microseconds.

        Returns:
            By rank: ``correlation``, ``cpu_duration``, ``gpu_duration``, ``launch_delay`` (us).
        """
        cutoffs = (runtime_cutoff, launch_delay_cutoff)
        frames = {
            rank: cuda_kernel_analysis.launch_stats(self.t, rank, include_memory_events)
            for rank in self.t.asked(ranks)
        }
        if visualize:
            show(
                lambda: [
                    f for rank, frame in frames.items() for f in _figures.launches(rank, frame, *cutoffs)
                ]
            )
        return frames

    def get_aten_op_kernels_and_delay(
        self, ranks: Sequence[int] | None = None, sort_by: Sequence[str] | None = None
    ) -> dict[int, pd.DataFrame]:
        """What each aten operator launches, how often, and how long it takes to get there.

        Returns:
            By rank: ``aten_op_name``, ``kernel_sequence``, ``occurrence_count``, ``avg_aten_op_launch_delay``
            (from the operator's start to its first launch, us), ``avg_runtime_delay`` (from there to the GPU,
            us). Largest first by the columns of ``sort_by``, which are ``["occurrence_count"]`` by default.
        """
        columns = list(sort_by) if sort_by is not None else ["occurrence_count"]
        asked = self.t.asked(ranks)
        return {rank: cuda_kernel_analysis.op_kernels_and_delay(self.t, rank, columns) for rank in asked}

    def get_frequent_cuda_kernel_sequences(
        self,
        operator_name: str,
        output_dir: StrPath,
        min_pattern_len: int = 3,
        rank: int | None = None,
        top_k: int = 5,
        visualize: bool = False,
        compress_other_kernels: bool = True,
    ) -> pd.DataFrame:
        """Sequences of kernels that operators launch again and again: what might be fused.

        Args:
            operator_name: look below the outermost events with this text in their name.
            output_dir: where to write ``overlaid_<trace>``, in which the most frequent sequences are marked
                ``Patterns``.
            min_pattern_len: leave shorter sequences out.
            rank: of which rank; the first by default.
            top_k: how many to mark and to show.
            compress_other_kernels: replace the names of all other events by numbers in the written trace.

        Returns:
            ``pattern`` (the operator and its kernels, with ``|`` between), ``count``,
            ``GPU kernel duration (us)``, ``CPU op duration (us)``; the most frequent first.
        """
        if not operator_name:
            raise UsageError('operator_name="": say which operators to look below, such as "aten::"')
        number = self.t.asked(rank)[0]
        frame = frequent_sequences.frequent_sequences(self.t, number, operator_name, min_pattern_len)
        folder = folder_for(output_dir)
        options = (operator_name, folder, compress_other_kernels)
        frequent_sequences.write_overlay(self.t, number, frame.head(top_k), *options)
        if visualize:
            show(lambda: _figures.sequences(frame, number, top_k))
        return frame

    #: HTA's first release called it so.
    get_frequent_cuda_kernel_patterns = get_frequent_cuda_kernel_sequences

    def get_profiler_steps(self) -> list[int]:
        """The numbers of the profiler's steps, without the last one unless that is to count."""
        return straggler_analysis.profiler_steps(self.t)

    def get_potential_stragglers(
        self,
        profiler_steps: Sequence[int] | None = None,
        num_candidates: int = 2,
        visualize: bool = False,
        straggler_identification_impl: Identification | None = None,
    ) -> list[int]:
        """The ranks that most likely hold the others up, the likeliest first.

        Args:
            profiler_steps: look at these steps only.
            num_candidates: how many ranks at most.
            visualize: show who waited for whom.
            straggler_identification_impl: a function of your own in the place of gpuscope's analysis. It gets
                the events of all ranks as a data frame, the table of names, ``num_candidates`` and
                ``visualize``, and returns a series of scores by rank.
        """
        steps = straggler_analysis.valid_steps(self.t, profiler_steps)
        if straggler_identification_impl is not None:
            own = (num_candidates, visualize, straggler_identification_impl)
            return straggler_analysis.stragglers_by(self.t, steps, *own)
        if visualize:
            show(self.t.run.stragglers().figures)
        return straggler_analysis.potential_stragglers(self.t, steps, num_candidates)

    def get_cupti_counter_data_with_operators(self, ranks: Sequence[int] | None = None) -> list[pd.DataFrame]:
        """What hardware counters measured for each kernel, with the operators that launched it.

        Returns:
            One table for each rank that has counters: the columns of ``t.get_trace(rank)``, one per counter,
            ``op_stack`` (outermost first), ``top_level_op``, ``bottom_level_op``.
        """
        asked = (
            cupti_counter_analysis.counter_data_with_operators(self.t, rank) for rank in self.t.asked(ranks)
        )
        return [frame for frame in asked if frame is not None]

    def critical_path_analysis(
        self,
        rank: int,
        annotation: str,
        instance_id: int | tuple[int, int] | None,
        data_load_events: Sequence[str] | None = None,
    ) -> tuple[CPGraph, bool]:
        """What would have to be faster for a stretch of a rank to be faster.

        Args:
            rank: of which rank.
            annotation: the stretch is that of the annotations with this text in their name; "" is the whole
                trace.
            instance_id: which of them, counted from 0, or the first and the last of several.
            data_load_events: regular expressions for events of the host that load data.

        Returns:
            The path, and whether there is one.
        """
        asked = (rank, annotation, instance_id, data_load_events)
        return critical_path_analysis.critical_path(self.t, *asked)

    def overlay_critical_path_analysis(
        self,
        rank: int,
        critical_path_graph: CPGraph,
        output_dir: StrPath,
        only_show_critical_events: bool = True,
        show_all_edges: bool = False,
    ) -> str:
        """Write the trace with its critical path marked, for a viewer.

        Args:
            rank: whose path it is.
            critical_path_graph: what :meth:`critical_path_analysis` returned.
            output_dir: the folder that ``overlaid_critical_path_<trace>`` goes to.
            only_show_critical_events: leave out work that is not on the path; annotations stay.
            show_all_edges: draw arrows also between neighbours on one thread or stream.

        Returns:
            The path of the written file.
        """
        if rank != critical_path_graph.rank:
            raise UsageError(f"rank {rank}: this is a critical path of rank {critical_path_graph.rank}")
        how = (folder_for(output_dir), only_show_critical_events, show_all_edges)
        written: Path = critical_path_analysis.write_overlay(self.t, critical_path_graph, *how)
        return str(written)
