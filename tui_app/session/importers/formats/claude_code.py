"""Transcripts of Claude Code: JSON lines, one record a line; also what its command line prints."""

import re
from collections.abc import Iterator
from pathlib import Path

from tui_app.paths import from_home
from tui_app.session.importers.places import Env, LocalTranscript
from tui_app.session.importers.shape import ANTHROPIC_TOKENS, SUMMARY, TROUBLE, Shape, aside
from tui_app.session.importers.source import Json
from tui_app.session.importers.trees import conversation
from tui_app.session.importers.values import list_at, text_at

_KINDS = {"rate_limit": "rate_limit", "authentication_failed": "auth", "invalid_request": "input"}
_OVERFLOW = "Prompt is too long"


def claude_code_place(env: Env, home: Path, _cwd: Path) -> Iterator[LocalTranscript]:
    own = env.get("CLAUDE_CONFIG_DIR", "").strip()
    for root in [from_home(own)] if own else [home / ".claude", home / ".config" / "claude"]:
        for path in (root / "projects").glob("*/*.jsonl"):
            # Sub-agents have files of their own in some versions; they belong to another conversation.
            if not path.name.startswith("agent-"):
                yield LocalTranscript(path=path)


def _answer(record: Json) -> Json:
    if record.get("isApiErrorMessage") is True:
        text = "\n\n".join(text_at(block, "text") for block in list_at(record, "content"))
        kind = _KINDS.get(text_at(record, "error"), "provider")
        kind = "context_overflow" if text.startswith(_OVERFLOW) else kind
        message = text or text_at(record, "content")
        return {**record, "role": TROUBLE, "message": message, "kind": kind, "model": None}
    model = text_at(record, "model")
    # Only the vendor that signed a thought can check the signature; others would be refused with it.
    provider = "anthropic" if model.startswith("claude") else ""
    # What the program answered by itself has no model.
    named = {"model": "" if model == "<synthetic>" else model, "signed_by": provider}
    return {**record, "role": "assistant", "response": record.get("id"), **named}


def _about(record: Json) -> Json:
    return {**record, **aside(""), "title": text_at(record, "customTitle", "aiTitle", "summary")}


CLAUDE_CODE = Shape(
    name="claude-code", program="Claude Code",
    signs=(
        "type=user|assistant message.content", "loglines.type=user|assistant loglines.message.content",
    ),
    places=(claude_code_place,), talk=("loglines",), models=("model",), finish=("stop_reason",),
    tokens=ANTHROPIC_TOKENS,
    noted=(
        "isMeta=true", "isSynthetic=true", "isVisibleInTranscriptOnly=true", "origin.kind!=human",
        "turnOrigin!=human", "attachment.origin.kind!=human", "attachment.turnOrigin!=human",
    ),
    frame=re.compile(
        r"(?m)^(?:This session is being continued from a previous conversation|If you need specific details"
        r" from before|Please continue the conversation from where|Recent messages are preserved verbatim).*$"
    ),
    continued="This session is being continued from a previous conversation", tells_trigger=True,
    denied=(
        "the user doesn't want to proceed with this tool use", "the user doesn't want to take this action",
    ),
    stopped=("[request interrupted by user",), order=conversation, message="message",
    kinds={
        "assistant": _answer, "user": {"role": "user"}, "queued": {"role": "user"},
        # What the user typed while the model was busy is stored as an attachment of that turn.
        "attachment": {"role": "user", "content": ".attachment.prompt"},
        "compaction": {
            "role": SUMMARY, "first": ".told.preservedSegment.headUuid",
            "before": ".told.preTokens .told.pre_tokens", "after": ".told.postTokens .told.post_tokens",
        },
    },
    convert=_about,
)  # fmt: skip
