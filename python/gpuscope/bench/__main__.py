"""``python -m gpuscope.bench run SPEC``: measure, and write the results down."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuscope.bench import _commands, _options, answers
from gpuscope.bench.progress import Progress
from gpuscope.bench.runner import Results, run_spec
from gpuscope.bench.spec import load_spec
from gpuscope.errors import GpuscopeError, InputError, UsageError
from gpuscope.profiling._program import _quiet_kineto
from gpuscope.profiling._saving import check_place

EXIT_DONE, EXIT_FAILURES, EXIT_USAGE, EXIT_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 3, 130

DEFAULT_OUTPUT = Path("profiling_results") / "profiling_data.json"

_ABOUT = """\
Measure every configuration of a benchmark until its mean time is known well enough, write the results as JSON
after each of them, add them to the history, and print a table."""

_MORE = """\
SPEC is one of
  gpt                 the built-in family: nano, micro, mini, tile-small, tile-medium, tile-large
  benchmark.toml      a file with target = "module:function" or command = ["program", ...], batch = [...],
                      seq_len = [...], limits such as precision = 0.02, and [configs.NAME] tables
  module:function     a function with @gpuscope.bench.benchmark, or any function; file.py:function too

examples:
  gpuscope bench run gpt --batch 8 --seq-len 128
  gpuscope bench run gpt --config nano --config tile-small --precision 0.01
  gpuscope bench run benchmark.toml -o results/today.json --label "new kernels" --flag tf32=true
  gpuscope bench report results/today.json -o dashboard.html

The exit code is 0, 1 if a configuration failed, 2 for wrong usage, 3 for input that cannot be read, 130 after
Ctrl-C; what was finished is on disk in each case."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(
        prog="gpuscope bench", description="Benchmarks: measure, and write the results down."
    )
    verbs = main.add_subparsers(dest="verb", title="Commands", metavar="{run}")
    run = verbs.add_parser(
        "run",
        help="measure every configuration of a benchmark",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("spec", metavar="SPEC", help="what to measure, see below")
    run.add_argument(
        "-o",
        "--output",
        type=Path,
        default=DEFAULT_OUTPUT,
        metavar="FILE",
        help=f"results [{DEFAULT_OUTPUT}]",
    )
    run.add_argument("--trace", action="store_true", help="record a trace of each configuration, too")
    run.add_argument("--label", metavar="TEXT", help="what this run is called")
    run.add_argument(
        "--flag",
        action="append",
        type=_options.flag,
        default=[],
        metavar="KEY=VALUE",
        help="something worth knowing about this run; may be repeated",
    )
    _options.add_history(run)
    loudness = run.add_mutually_exclusive_group()
    loudness.add_argument(
        "-q", "--quiet", action="store_true", help="say nothing but errors, and print no table"
    )
    loudness.add_argument("-v", "--verbose", action="store_true", help="a line for each configuration")
    matrix = run.add_argument_group("which part of the matrix")
    matrix.add_argument(
        "--config",
        action="append",
        nargs="+",
        metavar="NAME",
        help="only these configurations; may be repeated",
    )
    matrix.add_argument("--batch", type=_options.sizes, metavar="N,N", help="these batch sizes instead")
    matrix.add_argument(
        "--seq-len", type=_options.sizes, metavar="N,N", help="these sequence lengths instead"
    )
    _options.add_limits(run)
    return main


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says, and give the exit code."""
    command_line = parser()
    options = command_line.parse_args(argv)
    if options.verb is None:
        command_line.print_help()
        return EXIT_USAGE
    try:
        return _run(options)
    except GpuscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return _code_of(error)


def _code_of(error: GpuscopeError) -> int:
    return EXIT_INPUT if isinstance(error, InputError) else EXIT_USAGE


def _run(options: argparse.Namespace) -> int:
    check_place(options.output)
    if options.no_history and options.db is not None:
        raise UsageError("--db and --no-history: use one of them")
    configs = None if options.config is None else [name for names in options.config for name in names]
    # Most benchmarks import torch here, and what its profiler would report is no word of theirs.
    with _quiet_kineto():
        loaded = load_spec(options.spec)
    spec = loaded.but(
        configs=configs,
        batch=options.batch,
        seq_len=options.seq_len,
        trace=True if options.trace else None,
        **_options.limits_of(options),
    )
    history = None if options.no_history else _commands.History(options.db)
    results = Results(options.output, history, label=options.label, flags=dict(options.flag))
    try:
        run_spec(spec, results, Progress(verbose=options.verbose, quiet=options.quiet))
    except KeyboardInterrupt:
        print(_interrupted(results), file=sys.stderr)
        return EXIT_INTERRUPTED
    return _conclude(results, quiet=options.quiet)


def _interrupted(results: Results) -> str:
    done = len(results.data["benchmarks"])
    if not done:
        return f"interrupted: nothing was finished, and {results.path} was not written"
    return f"interrupted: {done} finished configuration{'s are' if done > 1 else ' is'} in {results.path}"


def _conclude(results: Results, *, quiet: bool) -> int:
    path = results.path
    if path is not None and results.data["benchmarks"] and not quiet:
        _commands.print_answer(answers.report(path))
        print(f"results: {path}", file=sys.stderr)
    if results.failures:
        return EXIT_FAILURES
    if results.history is not None and results.history.error is not None:
        return _code_of(results.history.error)
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
