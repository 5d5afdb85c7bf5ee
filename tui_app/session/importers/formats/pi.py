"""Sessions of pi: JSON lines, a session record and then entries that form a tree (in old files a list)."""

from collections.abc import Callable

from tui_app.session.importers.content import attached, text_block
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import NOTE, SUMMARY, TROUBLE, Shape, aside
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import object_at, text_at

_ASIDE = ("custom", "label", "model_change", "session", "session_info", "thinking_level_change")


def _convert(entry: Json) -> Json | list[Json]:
    kind, message = text_at(entry, "type"), object_at(entry, "message")
    if kind in _ASIDE:
        left = "entries that are not messages were left out"
        return {**entry, **aside(left), "title": entry.get("name"), "model": entry.get("modelId")}
    role = text_at(message, "role") if kind == "message" else kind
    if role not in _ROLES:
        return {"unknown": f"unknown {'role' if kind == 'message' else 'entry type'} {shown(role)}"}
    told = {**_ROLES[role](message if kind == "message" else entry), "timestamp": entry.get("timestamp")}
    error = text_at(message, "errorMessage") if told.get("finish") == "error" else ""
    return [told, {"role": TROUBLE, "message": error}] if error else told


def _answer(message: Json) -> Json:
    stop = message.get("stopReason")
    return {**message, "finish": stop, "state": "interrupted" if stop == "aborted" else ""}


def _command(message: Json) -> Json:
    output = attached(text_at(message, "output"), tag="bash-stdout")
    return {"role": "user", "content": [text_block(f"Ran `{text_at(message, 'command')}`"), output]}


def _left_branch(entry: Json) -> Json:
    # A model wrote it, though it was told in the user's name.
    summary = text_at(entry, "summary")
    said = f"What happened on a branch that was left:\n\n{summary}"
    return {"role": "assistant", "content": said} if summary else aside()


def _compaction(entry: Json) -> Json:
    first = {"first": entry.get("firstKeptEntryId"), "before": entry.get("tokensBefore")}
    return {"role": SUMMARY, "content": entry.get("summary"), **first}


_ROLES: dict[str, Callable[[Json], Json]] = {
    "user": dict, "assistant": _answer, "toolResult": lambda message: {**message, "role": "tool"},
    "bashExecution": _command, **dict.fromkeys(("branchSummary", "branch_summary"), _left_branch),
    **dict.fromkeys(("compactionSummary", "compaction"), _compaction),
    **dict.fromkeys(("custom", "hookMessage", "custom_message"), lambda _: {"role": NOTE}),
}  # fmt: skip
PI = Shape(
    name="pi", program="pi", models=("model",), links=("id", "parentId", ()), convert=_convert,
    signs=(f"type=message message.role={'|'.join(_ROLES)}",),
    places=(files_in("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/**/*.jsonl"),),
    tokens={
        "fresh": "usage.input", "output": "usage.output", "read": "usage.cacheRead",
        "written": "usage.cacheWrite",
    },
)  # fmt: skip
