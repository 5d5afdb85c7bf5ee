"""Sessions of pi: JSON lines, a session record and entries that form a tree (a list in old files)."""

from collections.abc import Callable

from tui_app.session.importers.content import attached, text_block
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import NOTE, SUMMARY, TROUBLE, Shape, side_record
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import text_at

_ASIDE = ("label", "model_change", "session", "session_info", "thinking_level_change")
_LEFT = {**side_record("entries that are not messages were left out"), "title": ".name", "model": ".modelId"}


def _answer(message: Json) -> list[Json]:
    stop, error = message.get("stopReason"), text_at(message, "errorMessage")
    answer = {**message, "finish": stop, "state": "interrupted" if stop == "aborted" else ""}
    return [answer, *([{"role": TROUBLE, "message": error}] if error and stop == "error" else [])]


def _command(message: Json) -> Json:
    output = attached(text_at(message, "output"), tag="bash-stdout")
    return {"role": "user", "content": [text_block(f"Ran `{text_at(message, 'command')}`"), output]}


def _left_branch(entry: Json) -> Json:
    # A model wrote it, although it has the user's role.
    summary = text_at(entry, "summary")
    text = f"What happened on a branch that was left:\n\n{summary}"
    return {"role": "assistant", "content": text} if summary else side_record()


_COMPACTION = {
    "role": SUMMARY, "content": ".summary", "first": ".firstKeptEntryId", "before": ".tokensBefore",
}  # fmt: skip
_ROLES: dict[str, Json | Callable[[Json], Json | list[Json]]] = {
    "user": {}, "assistant": _answer, "toolResult": {"role": "tool"}, "bashExecution": _command,
    **dict.fromkeys(("branchSummary", "branch_summary"), _left_branch),
    **dict.fromkeys(("compactionSummary", "compaction"), _COMPACTION),
    **{kind: {"role": NOTE} for kind in ("custom", "hookMessage", "custom_message")},
}  # fmt: skip
PI = Shape(
    name="pi", program="pi", models=("model",), links=("id", "parentId", ()), message="message",
    kind=("message.role", "type"), kinds={**_ROLES, **dict.fromkeys(_ASIDE, _LEFT)}, about=("type=custom",),
    signs=(f"type=message message.role={'|'.join(_ROLES)}",),
    places=(files_in("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/**/*.jsonl"),),
    cost=("usage.cost.total",), tokens={
        "fresh": "usage.input", "output": "usage.output", "read": "usage.cacheRead",
        "written": "usage.cacheWrite",
    },
)  # fmt: skip
