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


@frozen(kw_only=True)
class SentPart:
    """What stands in front of the messages of a request, by whom it is from; of its text a hash alone."""

    name: str
    """``system prompt``, the file of instructions, ``skills``, ``server files``, ``clock``, ``tools``."""
    tokens: int
    """As counted without any factor."""
    hash: str
    """Of its text; two requests with the same one hold the same bytes."""
    count: int = 1
    """How many definitions it is, for tools."""


@frozen(kw_only=True)
class PrefixBreak:
    """The first byte of a request that was another one in the request before."""

    part: str
    """What it is in: that of a :class:`SentPart`, a tool by its name, or ``message 12: tool-return``."""
    how: Literal["changed", "added", "removed"]
    byte: int = 0
    """Its place in the part, from 0."""
    line: int = 0
    """The line of the part that it is in, from 1; 0 where the part has none."""
    by: str = ""
    """The server whose part it is; empty for what is ours or the folder's."""


@event("session.usage_info")
class UsageInfo(Payload):
    """The measured context of a request: ``ContextUsage.to_json()`` and what prompt caches can make of it."""

    usage: dict[str, Any]
    prefix_kept: float | None = None
    """Share of the previous request's tokens, 0 to 1, that this one begins with byte for byte; None for the
    first request since the conversation was opened."""
    cache_read_tokens: int | None = None
    """Input tokens of the previous request that its provider says it read from its cache; None where it did
    not say."""
    factor: float | None = None
    """Real tokens of the model per counted token, by which the figures were made; None in older logs."""
    carried: dict[str, int] | None = None
    """What the request carries besides its messages, by category, as counted without that factor; None in
    older logs."""
    growth: dict[str, float] | None = None
    """Real tokens by which a request grows with each counted one, of ``text`` and of ``calls`` and thoughts;
    None while that is not known."""
    cache_hour: float | None = None
    """Share of the request, 0 to 1, up to which its provider was asked to keep it for an hour, by it or one
    before; None where that is not decided for each request, and in older logs."""
    parts: tuple[SentPart, ...] | None = None
    """What stands in front of the messages; None where that is as in the request before."""
    broken: PrefixBreak | None = None
    """Where the request first differs from the one before; None where it begins with all of it."""


@event("session.fullness", row="notice", light={"chars": "text"})
class FullnessTold(Said):
    """The model was told how full its context window is; the message is for the model."""

    mark: int
    """The threshold that was passed, in percent of the window."""
    percent: int = 0
    """How full it was."""

    def headline(self) -> str:
        return f"the model was told: context window {self.percent}% full"


@event("session.folder_instructions", row="notice", light={"chars": "text"}, says="instructions: {0.path}")
class FolderInstructions(Said):
    """The model first read something in a folder, and was given a file of its instructions with it."""

    path: str
    """The file, from the root of the repository."""


@event("session.truncation", row="truncation")
class Truncation(Payload):
    """One request was cut to fit; the view itself did not change, and replay ignores this."""

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
    """Why the model asked for it, in its own words."""
    from_message: int = 0
    """Log number of the message a user wants replaced first; 0 where they named none."""
    up_to_message: int = 0
    """Log number of the message a user wants replaced last; 0 where they named none."""
    reviewed: bool = False
    """Whether a user decides on the summary before it is applied."""
    leaving: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers of what the summary is to stand for."""
    tokens_leaving: int = 0


@event("session.compaction_awaited", stored=False)
class CompactionAwaited(Payload):
    """A request waits from now on for a job of the background or one under review; it ends as any does."""

    job: str
    trigger: Trigger
    """Why the request cannot go on without it."""
    began_as: Trigger = "background"
    """The trigger of the job, under which it stays known."""
    model: str = ""
    """Who is writing just now."""


@event("session.compaction_progress", stored=False)
class CompactionProgress(Payload):
    """How far a running job is."""

    job: str
    part: int
    parts: int
    tokens_written: int
    model: str = ""
    """Who is writing: another one than at the start where that one has failed; empty for a marker."""
    text: str = ""
    """What was written since the last report; each part begins anew."""


@frozen(kw_only=True)
class Weighed(Resized):
    """Base of events about a summary: sizes before and after it, and what it keeps."""

    messages_before: int = 0
    messages_after: int = 0
    retention: float | None = None
    """Share of the facts by weight that are kept; null where none were found."""
    facts: tuple["Fact", ...] = ()
    """What becomes of each."""
    claims_marked: int | None = None
    """Lines that name what the log does not hold, each marked; null where code wrote the summary."""
    claims_held: tuple[str, ...] = ()
    """What the log holds instead of each marked claim, in older logs."""
    lines: int | None = None
    """Statements of the summary; null where code wrote it, and in older logs."""
    lines_sourced: int = 0
    """Those of them that are bound to the messages they come from."""
    calls_not_understood: int = 0
    """Tool calls of the session that may have done anything: what they did is no fact."""
    questions: int = 0
    """Questions that the log can answer and that were put to what is then sent; 0 in older logs."""
    unanswered: tuple[str, ...] = ()
    """Those whose answer does not stand there."""
    misread: tuple[str, ...] | None = None
    """Those that the model which reads it answers otherwise than the log; null where it was not asked."""


@event("session.compaction_proposed", stored=False)
class CompactionProposed(Weighed):
    """A summary is written and waits for the user to accept, edit or discard it; nothing changed."""

    job: str
    summary: str
    problem: str = ""
    """Why the summary could not be applied as it was edited; empty the first time."""
    model: str = ""
    messages_leave: int = 0
    messages_stay: int = 0
    in_files: int = 0
    """Results among those that leave whose full text is in a file of the session."""
    cost_usd: float | None = None
    """What writing it has cost so far; null where no price is known."""
    facts_lost: int = 0
    """Facts that would be neither kept nor recoverable."""
    passages: tuple[tuple[Origin, str], ...] = ()
    """What the model would get in place of what leaves, in passages by who they are from."""


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
    """Something the dropped history held, and what became of it."""

    kind: FactKind
    text: str
    """What a user reads, for example ``import.py · edited 3×``."""
    source: str = ""
    """Handle of the message it comes from, for example ``#142``."""
    state: FactState = "kept"
    weight: float = 1.0
    put_back: bool = False
    """Whether it is kept only because code has put it beside a summary that lacked it."""


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
    told = [f"{sourced} of {count(lines, 'line')} sourced"] if lines else []
    return [*told, f"{not_in_log} not in the log"] if not_in_log else told


def answers_text(
    questions: int, unanswered: Collection[str], misread: Collection[str] | None = None
) -> list[str]:
    """Return how many questions the view answers, and how many of them the model that reads it."""
    if not questions:
        return []
    told = [f"{questions - len(unanswered)} of {count(questions, 'question')} answered"]
    return told if misread is None else [*told, f"{questions - len(misread)} by the model"]


@event(
    "session.compaction_complete",
    row="compaction",
    light={"chars": "summary", "state": "outcome", "removed": "removed", "ref": "behind"},
)
class CompactionComplete(Weighed):
    """A compaction ended. With outcome ``success`` it changes the agent view; else nothing changed."""

    job: str
    outcome: Outcome
    trigger: Trigger
    policy: str = "plimsoll"
    performed_by: str = "model"
    """``model``, ``heuristic``, ``marker`` or ``provider``."""
    model: str = ""
    reason: str = ""
    """Why it failed, in one sentence; of a success, why the writer that was meant to did not write it."""
    focus: str = ""
    asked: str = ""
    """Why the model asked for it, in its own words."""
    from_message: int = 0
    """Log number of the message a user wanted replaced first; 0 where they named none."""
    up_to_message: int = 0
    """Log number of the message a user wanted replaced last; 0 where they named none."""
    instructions: str = ""
    """What the user's settings and hooks asked of the summary."""
    refused_notes: str = ""
    """What a model wrote and was refused, as too few of its lines could be traced; empty where none was."""
    title: str = ""
    summary: str = ""
    edited: bool = False
    """Whether a user changed the summary before it was applied."""
    removed: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers that left the agent view."""
    behind: int = 0
    """Log number of the message the summary stands behind; 0 puts it behind the leading system prompts."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the summary message, by category."""
    breakdown: dict[str, int] = field(default_factory=dict)
    """The tokens when the job began, by category; empty in older logs."""
    tokens_removed: int = 0
    messages_removed: int = 0
    """Those that left the view, less those that came in their place."""
    messages_left: int = 0
    """Those that left the view; 0 in older logs."""
    files_restored: tuple[str, ...] = ()
    """Files worked on last that stand beside the summary as they were on disk."""
    checkpoint_number: int = 0
    """Number of the checkpoint that was written; 0 where there is none."""
    checkpoint_path: str = ""
    history_path: str = ""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    request_id: str = ""
    """The provider's own id of the last answer to the request for the summary; empty where it gave none."""

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
        return " · ".join([*parts, *(said for told, said in others if told)]) + self._writer()

    def _kept(self) -> list[str]:
        """Return what the summary keeps of the user's words, the most important file, and open errors."""
        kept = [fact for fact in self.facts if fact.state == "kept"]
        said, rules, errors = (
            sum(fact.kind in kinds for fact in kept) for kinds in (("request", "said"), ("rule",), ("error",))
        )
        files = [fact for fact in kept if fact.kind == "file" and "edited" in fact.text]
        own = said or rules
        noun = "prompt" if said else "rule"
        told = [f"your {count(own, noun) if own > 1 else noun} word for word"] if own else []
        if files:
            path, _, deeds = max(files, key=lambda fact: fact.weight).text.partition(" · ")
            if len(path) > _MOST_PATH:
                path = "/".join(("…", *path.split("/")[-2:]))
            # Parts of this line are separated by the same dot.
            told.append(f"{path} {deeds.replace(' · ', ' ')}"[:_MOST_NAMED])
        return [*told, f"{count(errors, 'error')} still open"] if errors else told

    def _writer(self) -> str:
        """Return the summary's author if it was not the intended model."""
        if self.performed_by == "provider":
            return " · by the provider"
        stands_in = {"heuristic": "extraction", "marker": "a marker"}.get(self.performed_by, self.model)
        return f" · by {stands_in}" if self.reason else ""


@event("session.compaction_acknowledged", says="{0.text}")
class CompactionAcknowledged(Payload):
    """The assistant's acknowledgement of a summary, for the model alone.

    It is recorded in one step with its compaction, right behind it, and comes and goes with it.
    """

    job: str
    """The compaction's job."""
    text: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the message, by category."""


@event("session.compaction_undone", light={"ref": "compaction"})
class CompactionUndone(Resized):
    """The view from before a compaction is back; ``compaction`` is its log number."""

    compaction: int


@event("session.compaction_redone", light={"ref": "compaction"})
class CompactionRedone(Resized):
    """An undone compaction stands again."""

    compaction: int


@event("session.compaction_edited", row="rewrite", light={"chars": "summary", "ref": "compaction"})
class CompactionEdited(Resized):
    """A summary was given other words, or a fact it lacked; ``tool.restored`` takes that back.

    It carries the whole replacement as it is from now on, also once the compaction is undone and redone.
    """

    compaction: int
    """Log number of the compaction whose summary it is."""
    summary: str
    """The notes as they are now."""
    fact: str = ""
    """What was brought back, word for word; empty where a user has edited the notes."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the summary message, by category."""
    retention: float | None = None
    facts: tuple[Fact, ...] = ()
    """The compaction's facts, and what became of them."""

    def headline(self) -> str:
        what = f"brought back: {self.fact}" if self.fact else "summary edited"
        return f"{what} · {thousands(self.tokens_before)} → {thousands(self.tokens_after)}"
