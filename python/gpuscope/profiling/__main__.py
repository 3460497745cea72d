"""``python -m gpuscope.profiling``: profile programs, and draw and analyse traces."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gpuscope.errors import GpuscopeError, InputError, UsageError
from gpuscope.profiling._saving import print_or_save_json

EXIT_DONE, EXIT_USAGE, EXIT_INPUT = 0, 2, 3

_RECORDING = ("profile", "memory", "compile")
_TAKES_A_VALUE = ("-o", "--output", "--sample-interval-ms")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    main = argparse.ArgumentParser(
        prog="python -m gpuscope.profiling",
        description="Profile programs that use torch; draw and analyse traces.",
    )
    verbs = main.add_subparsers(
        dest="verb", title="Commands", metavar="{profile,memory,flame,timeline,hta,compile}"
    )
    profile = _program_verb(verbs, "profile", "Profile GPU code and generate trace")
    profile.add_argument("--with-stack", action="store_true", help="record Python's stacks, too; slower")
    memory = _program_verb(verbs, "memory", "Profile memory usage")
    memory.add_argument(
        "--sample-interval-ms", type=float, default=1.0, metavar="MS", help="how often to look [1]"
    )
    _program_verb(verbs, "compile", "Analyze torch.compile behavior")
    flame = _trace_verb(verbs, "flame", "Generate flame graph from trace")
    flame.add_argument("--min-duration-us", type=float, default=0.0, metavar="US", help="join shorter boxes")
    flame.add_argument("--max-depth", type=int, metavar="N", help="only so many boxes below each other")
    flame.add_argument("--all-kernels", action="store_true", help="show small kernels one by one")
    timeline = _trace_verb(verbs, "timeline", "Generate CPU/GPU timeline visualization")
    timeline.add_argument(
        "--min-duration-us", type=float, default=0.0, metavar="US", help="hide shorter events"
    )
    timeline.add_argument("--no-python", action="store_true", help="hide Python functions")
    _trace_verb(verbs, "hta", "Run Holistic Trace Analysis")
    return main


def _program_verb(verbs: Any, name: str, text: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=text,
        description=f"{text}. Runs SCRIPT.py as Python would; a path without .py at its end is read instead.",
        usage=f"python -m gpuscope.profiling {name} [OPTIONS] SCRIPT.py [ARGS ...]",
    )
    _output_options(verb)
    return verb


def _trace_verb(verbs: Any, name: str, text: str) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=f"{text}.")
    verb.add_argument("trace", help="a trace file, or a folder of them")
    _output_options(verb)
    return verb


def _output_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where to write; the ending tells the format"
    )
    verb.add_argument("--json", action="store_true", help="JSON, to the output or else to standard output")


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command line says.

    The exit code is 0, 2 for wrong usage, 3 for input that cannot be read, or that of the program.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    words, program, runs = split_program(words)
    command_line = parser()
    options = command_line.parse_args(words)
    if options.verb is None:
        command_line.print_help()
        return EXIT_USAGE
    try:
        if options.verb in _RECORDING:
            return _record_or_read(options, program, runs)
        verbs: dict[str, Callable[[argparse.Namespace], None]] = {
            "flame": _flame,
            "timeline": _timeline,
            "hta": _hta,
        }
        verbs[options.verb](options)
    except GpuscopeError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_INPUT if isinstance(error, InputError) else EXIT_USAGE
    return EXIT_DONE


def split_program(words: Sequence[str]) -> tuple[list[str], list[str], bool]:
    """What is for us, what is the program's with its arguments, and whether it is to be run rather than read.

    >>> split_program(["profile", "-o", "out", "train.py", "--lr", "3"])
    (['profile', '-o', 'out'], ['train.py', '--lr', '3'], True)
    >>> split_program(["memory", "--", "train", "-v"])
    (['memory'], ['train', '-v'], True)
    >>> split_program(["memory", "trace.json", "--json"])
    (['memory', '--json'], ['trace.json'], False)
    """
    if not words or words[0] not in _RECORDING:
        return list(words), [], False
    for at in range(1, len(words)):
        word = words[at]
        if word == "--":
            return list(words[:at]), list(words[at + 1 :]), True
        if word.startswith("-") or words[at - 1] in _TAKES_A_VALUE:
            continue
        if word.endswith(".py"):
            return list(words[:at]), list(words[at:]), True
        return [*words[:at], *words[at + 1 :]], [word], False
    return list(words), [], False


def _record_or_read(options: argparse.Namespace, program: list[str], runs: bool) -> int:
    if not program:
        raise UsageError(f"{options.verb}: name the program to run, SCRIPT.py [ARGS ...]")
    if not runs:
        _read(options, program[0])
        return EXIT_DONE
    if options.verb == "compile":
        from gpuscope.profiling.torch_compile import run_script

        return int(run_script(program, output=options.output, as_json=options.json))
    from gpuscope.profiling import _recording

    if options.verb == "profile":
        outcome = _recording.profile_program(program, options.output, options.json, options.with_stack)
    else:
        outcome = _recording.track_program(program, options.output, options.json, options.sample_interval_ms)
    return outcome.leave()


def _read(options: argparse.Namespace, path: str) -> None:
    import gpuscope

    if options.verb == "compile":
        answer = gpuscope.compile_log(path)
    else:
        run = gpuscope.open(path)
        answer = run.analyze() if options.verb == "profile" else run.memory()
    if options.json:
        print_or_save_json(json.loads(answer.to_json()), options.output)
    elif options.output is not None:
        answer.save(options.output)
    else:
        print(answer)


def _flame(options: argparse.Namespace) -> None:
    from gpuscope.profiling.flame_graph import FlameGraphGenerator

    generator = FlameGraphGenerator(options.min_duration_us, options.max_depth, not options.all_kernels)
    data = generator.from_chrome_trace(options.trace)
    if options.json:
        print_or_save_json(data, options.output)
    elif options.output is not None:
        generator.export(data, options.output)
    else:
        print(data.answer)


def _timeline(options: argparse.Namespace) -> None:
    from gpuscope.profiling.timeline import TimelineGenerator

    generator = TimelineGenerator(options.min_duration_us, not options.no_python)
    timeline = generator.from_chrome_trace(options.trace)
    if options.json:
        print_or_save_json(timeline.to_dict(), options.output)
    elif options.output is None:
        print(timeline.summary())
    elif options.output.name.endswith((".json", ".json.gz")):
        generator.export_chrome_trace(timeline, options.output)
    elif options.output.suffix == ".html":
        generator.generate_html_viewer(timeline, options.output)
    else:
        raise UsageError(f"{options.output}: a timeline is written as .html, .json or .json.gz")


def _hta(options: argparse.Namespace) -> None:
    from gpuscope.profiling.hta_integration import HTAAnalyzer

    analyzer = HTAAnalyzer()
    report = analyzer.analyze_trace(options.trace)
    if options.json:
        print_or_save_json(report.to_dict(), options.output)
    elif options.output is not None:
        analyzer.export_report(report, options.output)
    else:
        print(report.to_markdown(), end="")


if __name__ == "__main__":
    sys.exit(main())
