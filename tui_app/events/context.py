"""Events of the context window: its size, cuts for one request, and compactions."""

from collections.abc import Collection, Iterable
from dataclasses import field
from typing import Any, Literal

from tui_app.events.base import FactState, Origin, Outcome, Payload, Resized, Said, Trigger, event
from tui_app.records import frozen
from tui_app.text import count, thousands

NOT_IN_LOG = "(not in the log)"
"""Mark after a statement of a summary that names something not in the log."""
UNCHECKED = "(unchecked)"
"""Mark after a statement that cites no source and for which none was found."""
DOUBTFUL = "(doubtful)"
"""Mark after a statement that a second reader did not find in its sources."""
MARKS = (NOT_IN_LOG, UNCHECKED, DOUBTFUL, "(unconfirmed)")
"""All marks, including one of summaries by earlier versions."""

DECLINED = "the summary was not accepted"
"""Why a compaction was discarded if the user did it."""


@frozen(kw_only=True)
class SentPart:
    """Content before the messages of a request, by source; only the hash of its text."""

    name: str
    """``system prompt``, the file of instructions, ``skills``, ``server files``, ``clock``, ``tools``."""
    tokens: int
    """Counted without calibration factor."""
    hash: str
    """Hash of its text; equal hashes mean equal bytes."""
    count: int = 1
    """Number of definitions, for tools."""


@frozen(kw_only=True)
class PrefixBreak:
    """The first byte of a request that differs from the previous request."""

    part: str
    """Its part: the name of a :class:`SentPart`, of a tool, or ``message 12: tool-return``."""
    how: Literal["changed", "added", "removed"]
    byte: int = 0
    """Its offset in the part, from 0."""
    line: int = 0
    """Its line in the part, from 1; 0 if the part has no lines."""
    by: str = ""
    """The server of the part; empty for Plimsoll's own and the folder's."""


@event("session.usage_info")
class UsageInfo(Payload):
    """The measured context of a request: ``ContextUsage.to_json()`` and the state of prompt caches."""

    usage: dict[str, Any]
    prefix_kept: float | None = None
    """Share of the previous request's tokens, 0 to 1, that this one begins with byte for byte; None for the
    first request since the conversation was opened.
    """
    cache_read_tokens: int | None = None
    """Input tokens of the previous request that were read from the provider's cache; None if not reported."""
    factor: float | None = None
    """Calibration factor of the figures: real tokens of the model per counted token; None in older logs."""
    carried: dict[str, int] | None = None
    """What the request carries besides its messages, by category, without that factor; None in older logs."""
    growth: dict[str, float] | None = None
    """Real tokens by which a request grows per counted token of ``text`` and of ``calls`` and thinking; None
    while unknown.
    """
    cache_hour: float | None = None
    """Share of the request, 0 to 1, that its provider was asked to cache for an hour; None if the lifetime is
    not chosen per request, and in older logs.
    """
    parts: tuple[SentPart, ...] | None = None
    """Content before the messages; None if it is as in the previous request."""
    broken: PrefixBreak | None = None
    """Where the request first differs from the previous one; None if it begins with all of it."""


@event("session.fullness", row="notice", light={"chars": "text"})
class FullnessTold(Said):
    """The model was told how full its context window is; the message is for the model."""

    mark: int
    """The threshold that was exceeded, in percent of the window."""
    percent: int = 0
    """Percentage of the window in use."""

    def headline(self) -> str:
        return f"the model was told: context window {self.percent}% full"


@event("session.folder_instructions", row="notice", light={"chars": "text"}, says="instructions: {0.path}")
class FolderInstructions(Said):
    """The model first read something in a folder, and got the folder's instructions with it."""

    path: str
    """The file, relative to the root of the repository."""


@event("session.truncation", row="truncation")
class Truncation(Payload):
    """One request was truncated to fit; the view itself did not change, and replay ignores this."""

    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    tokens_removed: int
    messages_removed: int
    performed_by: str = "truncator"

    def headline(self) -> str:
        """Return what was left out of one request; the conversation itself is unchanged."""
        removed = self.messages_removed
        what = count(removed, "message") if removed > 0 else "long results cut"
        tokens = self.tokens_removed
        size = thousands(tokens) if tokens >= 1_000 else str(tokens)
        # Tokens counted again for a truncated request can exceed what was removed.
        sizes = f", ~{size} tokens" if tokens > 0 else ""
        return f"Request truncated: {what}{sizes} left out of this request only"


@event("session.compaction_start")
class CompactionStart(Payload):
    """A compaction job began."""

    job: str
    trigger: Trigger
    tokens_before: int
    messages_before: int
    model: str
    breakdown: dict[str, int] = field(default_factory=dict)
    """The tokens before, by category; empty in older logs."""
    policy: str = "plimsoll"
    focus: str = ""
    asked: str = ""
    """The model's reason for requesting it."""
    from_message: int = 0
    """Log number of the first message a user wants replaced; 0 for none."""
    up_to_message: int = 0
    """Log number of the last message a user wants replaced; 0 for none."""
    reviewed: bool = False
    """Whether a user reviews the summary before it is applied."""
    leaving: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers that the summary will replace."""
    tokens_leaving: int = 0


@event("session.compaction_awaited", stored=False)
class CompactionAwaited(Payload):
    """A request now waits for a background job or one under review, which ends like any other."""

    job: str
    trigger: Trigger
    """Why the request cannot proceed without it."""
    began_as: Trigger = "background"
    """The original trigger of the job, which does not change."""
    model: str = ""
    """Name of the current writer."""


@event("session.compaction_progress", stored=False)
class CompactionProgress(Payload):
    """Progress of a running job."""

    job: str
    part: int
    parts: int
    tokens_written: int
    model: str = ""
    """Name of the current writer, different from the first if that failed; empty for a marker."""
    text: str = ""
    """Text written since the last report; each part starts empty."""


@frozen(kw_only=True)
class Weighed(Resized):
    """Base of events about a summary: sizes before and after it, and what it keeps."""

    messages_before: int = 0
    messages_after: int = 0
    retention: float | None = None
    """Share of the facts by weight that are kept; null where none were found."""
    facts: tuple["Fact", ...] = ()
    """The facts with their states."""
    claims_marked: int | None = None
    """Lines that name something not in the log, each marked; null if code wrote the summary."""
    claims_held: tuple[str, ...] = ()
    """What the log has instead of each marked claim, in older logs."""
    lines: int | None = None
    """Statements of the summary; null if code wrote it, and in older logs."""
    lines_sourced: int = 0
    """Number of statements bound to their source messages."""
    calls_not_understood: int = 0
    """Tool calls of the session that are not understood and may have done anything: their effects are not
    facts.
    """
    questions: int = 0
    """Questions that the log answers and that the resulting view was checked for; 0 in older logs."""
    unanswered: tuple[str, ...] = ()
    """Questions whose answer is not in the view."""
    misread: tuple[str, ...] | None = None
    """Questions that the model reading the view answers differently from the log; null if it was not asked.
    """


@event("session.compaction_proposed", stored=False)
class CompactionProposed(Weighed):
    """A summary is written, for the user to accept, edit or discard; nothing changed."""

    job: str
    summary: str
    problem: str = ""
    """Why the summary could not be applied as it was edited; empty the first time."""
    model: str = ""
    messages_leave: int = 0
    messages_stay: int = 0
    in_files: int = 0
    """Removed results whose full text is in a file of the session."""
    cost_usd: float | None = None
    """Cost so far; null if no price is known."""
    facts_lost: int = 0
    """Facts that would be neither kept nor recoverable."""
    passages: tuple[tuple[Origin, str], ...] = ()
    """What would replace the removed messages, in passages with their authors."""


FactKind = Literal[
    "rule", "request", "said", "live", "file", "command", "error", "decision", "todo", "question", "detail"
]

KIND_LABELS: dict[str, str] = {
    "rule": "Rules",
    "request": "Requests",
    "said": "Said by the user",
    "live": "Running",
    "error": "Open errors",
    "question": "Open questions",
    "todo": "Tasks",
    "file": "Files",
    "decision": "Answers and decisions",
    "command": "Commands",
    "detail": "Details",
}
"""Nouns for groups of facts, by kind."""


@frozen(kw_only=True)
class Fact:
    """Something in the removed history, and whether it is kept."""

    kind: FactKind
    text: str
    """Text for the user, for example ``import.py · edited 3×``."""
    source: str = ""
    """Handle of the message it comes from, for example ``#142``."""
    state: FactState = "kept"
    weight: float = 1.0
    put_back: bool = False
    """Whether it is kept only because code added it to a summary without it."""


_MOST_NAMED, _MOST_PATH = 60, 32
"""Characters of a fact named in a row, and of a path that is named whole there."""


def fact_counts(facts: Iterable[Fact]) -> dict[str, int]:
    """Count the facts ``kept`` by the summary, ``put_back`` by code, ``at_risk`` and ``lost``."""
    counts = dict.fromkeys(("kept", "put_back", "at_risk", "lost"), 0)
    for fact in facts:
        name = "at_risk" if fact.state == "recoverable" else fact.state
        counts["put_back" if fact.put_back and fact.state == "kept" else name] += 1
    return counts


def lines_text(lines: int | None, sourced: int, not_in_log: int | None) -> list[str]:
    """Return how many lines of a summary have a source, and how many name something not in the log."""
    parts = [f"{sourced} of {count(lines, 'line')} sourced"] if lines else []
    return [*parts, f"{not_in_log} not in the log"] if not_in_log else parts


def answers_text(
    questions: int, unanswered: Collection[str], misread: Collection[str] | None = None
) -> list[str]:
    """Return how many questions the view answers, and how many of them the model that reads it."""
    if not questions:
        return []
    parts = [f"{questions - len(unanswered)} of {count(questions, 'question')} answered"]
    return parts if misread is None else [*parts, f"{questions - len(misread)} by the model"]


@event(
    "session.compaction_complete",
    row="compaction",
    light={"chars": "summary", "state": "outcome", "removed": "removed", "ref": "behind"},
)
class CompactionComplete(Weighed):
    """A compaction ended. With outcome ``success`` it changes the agent view; otherwise nothing changed."""

    job: str
    outcome: Outcome
    trigger: Trigger
    policy: str = "plimsoll"
    performed_by: str = "model"
    """``model``, ``heuristic``, ``marker`` or ``provider``."""
    model: str = ""
    reason: str = ""
    """Why it failed, in one sentence; for a success, why the intended writer did not write it."""
    focus: str = ""
    asked: str = ""
    """The model's reason for requesting it."""
    from_message: int = 0
    """Log number of the first message a user wanted replaced; 0 for none."""
    up_to_message: int = 0
    """Log number of the last message a user wanted replaced; 0 for none."""
    instructions: str = ""
    """Additional instructions for the summary from settings and hooks."""
    refused_notes: str = ""
    """A model's notes that were refused because too few lines could be traced; empty for none."""
    title: str = ""
    summary: str = ""
    edited: bool = False
    """Whether a user changed the summary before it was applied."""
    removed: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers removed from the agent view."""
    behind: int = 0
    """Log number of the message before the summary; 0 puts it after the leading system prompts."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the summary message, by category."""
    breakdown: dict[str, int] = field(default_factory=dict)
    """The tokens when the job began, by category; empty in older logs."""
    tokens_removed: int = 0
    messages_removed: int = 0
    """Removed messages minus added ones."""
    messages_left: int = 0
    """Removed messages; 0 in older logs."""
    files_restored: tuple[str, ...] = ()
    """Files worked on last that are restored from disk next to the summary."""
    checkpoint_number: int = 0
    """Number of the checkpoint; 0 for none."""
    checkpoint_path: str = ""
    history_path: str = ""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    request_id: str = ""
    """The provider's own id of the last answer to the summary request; empty if it gave none."""

    def headline(self) -> str:
        """Return what a compaction replaced, and the state of the facts; the reason if it did not succeed."""
        if self.outcome != "success":
            return self.reason or self.outcome
        parts = [
            f"{count(self.messages_left or self.messages_removed, 'message')} became a summary",
            f"{thousands(self.tokens_before)} → {thousands(self.tokens_after)}",
        ]
        # Names are left out of a row: there are hundreds.
        counts = fact_counts(fact for fact in self.facts if fact.kind != "detail")
        known = sum(counts.values())
        if known:
            parts.append(f"{counts['kept'] + counts['put_back']} of {count(known, 'fact')}")
        elif self.retention is not None:
            parts.append(f"{self.retention:.0%} of the facts")
        if self.from_message or self.up_to_message:
            first = f"from #{self.from_message}" if self.from_message else ""
            last = f"up to #{self.up_to_message}" if self.up_to_message else ""
            parts.append(" ".join(filter(None, (first, last))))
        parts += self._kept()
        if counts["put_back"]:
            parts.append(f"{count(counts['put_back'], 'fact')} added by Plimsoll")
        parts += [f"{counts[name]} {name.replace('_', ' ')}" for name in ("at_risk", "lost") if counts[name]]
        parts += answers_text(self.questions, self.unanswered, self.misread)
        parts += lines_text(self.lines, self.lines_sourced, self.claims_marked)
        others = (
            (self.calls_not_understood, f"{count(self.calls_not_understood, 'call')} not understood"),
            (self.files_restored, f"{count(len(self.files_restored), 'file')} re-attached"),
            (self.asked, f"the model: {self.asked}"),
        )
        return " · ".join([*parts, *(text for value, text in others if value)]) + self._writer()

    def _kept(self) -> list[str]:
        """Return what the summary keeps of the user's words, the most important file, and open errors."""
        kept = [fact for fact in self.facts if fact.state == "kept"]
        prompts, rules, errors = (
            sum(fact.kind in kinds for fact in kept) for kinds in (("request", "said"), ("rule",), ("error",))
        )
        files = [fact for fact in kept if fact.kind == "file" and "edited" in fact.text]
        own = prompts or rules
        noun = "prompt" if prompts else "rule"
        parts = [f"your {count(own, noun) if own > 1 else noun} word for word"] if own else []
        if files:
            path, _, deeds = max(files, key=lambda fact: fact.weight).text.partition(" · ")
            if len(path) > _MOST_PATH:
                path = "/".join(("…", *path.split("/")[-2:]))
            # Parts of this line are separated by the same dot.
            parts.append(f"{path} {deeds.replace(' · ', ' ')}"[:_MOST_NAMED])
        return [*parts, f"{count(errors, 'error')} still open"] if errors else parts

    def _writer(self) -> str:
        """Return the summary's author if it was not the intended model."""
        if self.performed_by == "provider":
            return " · by the provider"
        stands_in = {"heuristic": "extraction", "marker": "a marker"}.get(self.performed_by, self.model)
        return f" · by {stands_in}" if self.reason else ""


@event("session.compaction_acknowledged", says="{0.text}")
class CompactionAcknowledged(Payload):
    """The assistant's acknowledgement of a summary, for the model only.

    It is recorded in one step with its compaction, directly after it, and is undone with it.
    """

    job: str
    """The compaction's job."""
    text: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the message, by category."""


@event("session.compaction_undone", light={"ref": "compaction"})
class CompactionUndone(Resized):
    """The view from before a compaction is restored; ``compaction`` is its log number."""

    compaction: int


@event("session.compaction_redone", light={"ref": "compaction"})
class CompactionRedone(Resized):
    """An undone compaction is applied again."""

    compaction: int


@event("session.compaction_edited", row="rewrite", light={"chars": "summary", "ref": "compaction"})
class CompactionEdited(Resized):
    """A summary was edited, or a missing fact was added; ``tool.restored`` undoes that.

    It has the whole replacement from now on, also after the compaction is undone and redone.
    """

    compaction: int
    """Log number of the compaction whose summary it is."""
    summary: str
    """The current notes."""
    fact: str = ""
    """The added fact, word for word; empty if a user edited the notes."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the summary message, by category."""
    retention: float | None = None
    facts: tuple[Fact, ...] = ()
    """The compaction's facts with their states."""

    def headline(self) -> str:
        what = f"brought back: {self.fact}" if self.fact else "summary edited"
        return f"{what} · {thousands(self.tokens_before)} → {thousands(self.tokens_after)}"
