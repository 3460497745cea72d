"""What can be told of a compiled model without torch's structured log: from its explanation and counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuscope.profiling._compile_report import CompileBreak, CompileReport
from gpuscope.profiling._compile_timing import Call

_USUAL = "Move the call out of the compiled function, or set TORCH_LOGS=graph_breaks to see more."


def explained(torch: Any, model: Callable[..., Any], call: Call) -> CompileReport:
    """Graph breaks as ``torch._dynamo.explain`` finds them, and kernels as inductor has counted them."""
    kernels = _kernels_written()
    torch._dynamo.reset()
    explanation = torch._dynamo.explain(model)(*call.args, **call.kwargs)
    report = CompileReport(frames=int(explanation.graph_count))
    seen: set[tuple[str, str | None, int | None]] = set()
    for reason in explanation.break_reasons:
        found = _break(reason)
        key = (found.reason, found.file, found.line)
        if key not in seen:
            seen.add(key)
            report.graph_breaks.append(found)
    report.ops_before_fusion = int(explanation.op_count)
    if kernels:
        report.ops_after_fusion = kernels
        report.fusion_ratio = report.ops_before_fusion / kernels
    report.recommendations = [
        f"The graph breaks at {each.location or 'an unknown place'}: {each.reason}."
        for each in report.graph_breaks
    ]
    report.notes.append(
        "torch wrote no structured log: breaks are those that torch._dynamo.explain finds, operators are "
        "counted as the program is written, and kernels without those of libraries"
    )
    return report


def _kernels_written() -> int:
    try:
        from torch._inductor import metrics

        return int(metrics.generated_kernel_count)
    except (ImportError, AttributeError):
        return 0


def _break(reason: Any) -> CompileBreak:
    lines = [line.strip() for line in str(reason.reason).splitlines() if line.strip()]
    hints = [line.removeprefix("Hint:").strip() for line in lines if line.startswith("Hint:")]
    stack = list(getattr(reason, "user_stack", []) or [])
    innermost = stack[-1] if stack else None
    return CompileBreak(
        reason=lines[0] if lines else "no reason is given",
        suggestion=" ".join(hint for hint in hints if "report an issue" not in hint) or _USUAL,
        file=innermost.filename if innermost else None,
        line=innermost.lineno if innermost else None,
        function=innermost.name if innermost else None,
        user_stack=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in stack],
    )
