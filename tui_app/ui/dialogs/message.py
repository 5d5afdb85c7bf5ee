"""One message with all that is known about it: full text, event as JSON, who sees it, what can be done."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from textual import work
from textual.actions import parse as parse_action
from textual.app import App, ComposeResult
from textual.widgets import Static

from tui_app.conversation.work import Exclude, Pin, Relieve
from tui_app.events import (
    REWRITES,
    CompactionComplete,
    MessageExcluded,
    Record,
    RowKind,
    SessionClear,
    SessionRewind,
)
from tui_app.records import frozen
from tui_app.references import log_number
from tui_app.session.event_heads import STAGES, Seen
from tui_app.session.user_view import Body, Entry
from tui_app.ui import clipboard
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.compaction_words import unmarked
from tui_app.ui.copies import Format, copied
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.list import Asked, ListDialog, ListSpec
from tui_app.ui.dialogs.questions import Way, WaysDialog
from tui_app.ui.keys import Hint, place_hints
from tui_app.ui.reports import SAID_BY
from tui_app.ui.tables import Column
from tui_app.ui.text import clock, count, one_line, tokens
from tui_app.ui.transcript.pieces import readable_args
from tui_app.ui.transcript.transcript import Wish
from tui_app.ui.widgets import LongText

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_KINDS: Mapping[RowKind, str] = {
    "user": "prompt",
    "assistant": "answer",
    "tool": "tool call and its result",
    "shell": "command of yours and its output",
    "system": "system prompt",
    "rewrite": "rewrite by a stage",
    "truncation": "request that was cut",
    "model": "change of model or policy",
    "clear": "cleared or rewound",
    "files": "restored files",
    "merge": "merged branch",
}
"""What rows are called that have other names to the user."""
_FORMS = {kind.TYPE: kind.FORM for kind in REWRITES}
_HIDERS: Mapping[str, str] = {
    CompactionComplete.TYPE: "a compaction",
    SessionClear.TYPE: "/clear",
    SessionRewind.TYPE: "a rewind",
    MessageExcluded.TYPE: "your exclusion",
}


@frozen(kw_only=True)
class MessageFacts:
    """One row of the conversation as its own screen shows it."""

    entry: Entry
    seen: Seen | None = None
    """How the model sees the message; None for a row that is no message."""
    events: tuple[Record, ...] = ()
    """The event that gave it its form, and the one that took it away, where there are such."""
    scale: float = 1.0
    """Tokens as the model counts them for each counted one."""

    @property
    def stage(self) -> int:
        """Log number of the rewrite that can be undone; 0 for none."""
        return self.seen.head.form[0] if self.seen is not None and self.seen.stage in STAGES else 0

    @property
    def title(self) -> str:
        return f"#{self.entry.message} · {_KINDS.get(self.entry.kind, self.entry.kind)}"

    def lines(self) -> Sequence[str]:
        entry = self.entry
        parts = [
            _moment(entry.time),
            f"{tokens(round(entry.tokens * self.scale))} tokens" if entry.tokens else "",
            count(entry.chars, "character"),
            f"call #{entry.seq}, result #{entry.result_seq}" if entry.result_seq else "",
            "pinned: stays word for word" if entry.pinned else "",
        ]
        return [" · ".join(filter(None, parts)), self._sight()]

    def _sight(self) -> str:
        seen = self.seen
        if seen is None:
            return "Seen by you only: it is not a message, and never sent to the model."
        if not seen.agent:
            taken = (record.data.TYPE for record in self.events if record.seq == seen.hidden_by)
            name = _HIDERS.get(next(taken, ""), "a later event")
            return f"Seen by you only: {name}{self._since(seen.hidden_by)} took it out of the model's view."
        if seen.stage:
            when = self._since(seen.head.form[0])
            return f"Seen by you as it was said, by the model {_FORMS[seen.stage]}{when}."
        return "Seen by you and by the model, as it was said."

    def _since(self, seq: int) -> str:
        record = next((record for record in self.events if record.seq == seq), None)
        return f" (#{seq}, {_moment(record.time)})" if record is not None else f" (#{seq})"


def _moment(epoch: float) -> str:
    return clock(epoch, "%Y-%m-%d %H:%M:%S")


Deed = Literal["pin", "exclude", "restore", "rewind", "fork", "branch"]
"""What can be done with a message besides reading it."""


class MessageScreen(Dialog[Deed], place="message", style="message", size="-full"):
    """Dismisses with what is to be done, or ``None``."""

    def __init__(
        self,
        facts: MessageFacts,
        text: Callable[[], Awaitable[str]],
        raw: Callable[[], Awaitable[str]],
        *,
        can_change: bool = True,
    ) -> None:
        """Show a message.

        Args:
            facts: What is known about it.
            text: Reads all of its text; awaited once it is shown.
            raw: Reads its events as JSON.
            can_change: Whether the session may be changed.
        """
        super().__init__(one_line(f"{facts.title} · {facts.entry.title}", 300))
        self._facts, self._readers, self._can_change = facts, (text, raw), can_change
        self._raw = False

    def body(self) -> ComposeResult:
        for line in self._facts.lines():
            yield Static(line, classes="dialog-note", markup=False)
        yield LongText("", id="message-text")

    def on_mount(self) -> None:
        self._name_keys()
        self.query_one(LongText).focus()
        self._read()

    def _name_keys(self) -> None:
        entry = self._facts.entry
        now = {
            "j": "text" if self._raw else "JSON",
            "p": "unpin" if entry.pinned else "pin",
            "x": "include" if entry.excluded else "exclude",
        }
        hints = (hint._replace(text=now.get(hint.label, hint.text)) for hint in place_hints("message"))
        self.key_row.hints = tuple(hint for hint in hints if self._acts(hint))

    def _acts(self, hint: Hint) -> bool:
        _, name, parameters = parse_action(hint.action)
        return self.check_action(name, parameters) is not False

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        self.whole = await self._readers[self._raw]()
        self.query_one(LongText).show(self.whole or "(no text)")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "do":
            return super().check_action(action, parameters)
        entry, may = self._facts.entry, self._can_change
        possible = {
            "pin": may and entry.kind in PINNABLE,
            "exclude": may and entry.kind in PINNABLE,
            "restore": may and bool(self._facts.stage),
            "rewind": may and entry.kind == "user" and not entry.left,
            "fork": entry.kind == "user",
            "branch": entry.kind == "user",
        }
        return possible[str(parameters[0])]

    def action_raw(self) -> None:
        """Show the JSON instead of the text, or the text again."""
        self._raw = not self._raw
        self._name_keys()
        self._read()

    def action_do(self, deed: Deed) -> None:
        self.dismiss(deed)


# What is done with marked messages: copied, pinned, archived, moved to files.

NO_ANSWER = "There is no answer to copy yet."
USAGE = "/copy takes text, code or markdown, and a message: 2 for the answer before the last, #12 for one."
PINNABLE = ("user", "assistant", "tool", "shell")
NOTHING_EXCLUDED = "Nothing is excluded. /exclude lists the messages with their numbers."
EXCLUDE_USAGE = (
    "/exclude takes numbers of messages, as in /exclude #12 #14; turn after them takes whole turns."
)
INCLUDE_USAGE = "/include takes numbers of excluded messages, as in /include #12 #14."


def full_text(body: Body) -> str:
    """All of a message, its arguments first."""
    return "\n\n".join(filter(None, (readable_args(body.args), body.thinking, body.text)))


async def act_on(app: "Host", session: ChatSession, wanted: Wish, entries: Sequence[Entry]) -> None:
    """Do what a user wants with the entries that are marked."""
    match wanted:
        case "pin":
            pin_all(session, entries)
        case "exclude":
            await exclude(app, session, entries)
        case "archive" | "offload":
            results = [entry.message for entry in entries if entry.kind == "tool" and entry.result_seq]
            if results:
                first, *others = (entry.message for entry in entries)
                session.submit(Relieve(first, wanted, tuple(others)))
            else:
                session.say(f"Only results of tools can be {wanted}{'d' if wanted[-1] == 'e' else 'ed'}.")
        case _:
            await copy(app, session, entries, wanted)


def pin_all(session: ChatSession, entries: Sequence[Entry]) -> None:
    """Pin messages; where all of them are pinned, take their pins away."""
    messages = [entry for entry in entries if entry.kind in PINNABLE]
    pinned = any(not entry.pinned for entry in messages)
    changed = [entry for entry in messages if entry.pinned is not pinned]
    asked = [session.submit(Pin(entry.message, pinned)) for entry in changed]
    if not messages:
        session.say("Only prompts, answers and results of tools can be pinned.")
    elif all(asked):
        numbers = " ".join(f"#{entry.message}" for entry in changed[:5])
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        session.say(f"{'Pinned' if pinned else 'Unpinned'} {numbers}{more}")


async def exclude(app: "Host", session: ChatSession, entries: Sequence[Entry]) -> None:
    """Take messages out of the model's sight; where all of them are out, bring them back.

    Of a single prompt the user says whether its whole turn leaves.
    """
    messages = [entry.message for entry in entries if entry.kind in PINNABLE]
    excluded = session.presenter.agent_view.excluded
    leaving = tuple(seq for seq in messages if seq not in excluded)
    if not messages:
        session.say("Only prompts, answers and results of tools can be excluded.")
    elif not leaving:
        session.submit(Exclude(tuple(messages), excluded=False))
    elif behind := _turn_behind(session, leaving[0]) if len(entries) == 1 else 0:
        follow = f"{count(behind, 'message')} that follow{'s' * (behind == 1)}"
        ways = (
            Way("Turn", f"the prompt and the {follow} it", "turn"),
            Way("Prompt", "this message alone; what follows stays", "prompt"),
            Way("Cancel", "nothing changes"),
        )
        note = "The model no longer sees it. x on it, or /undo, brings it back."
        way = await app.push_screen_wait(WaysDialog(f"Exclude the whole turn of #{leaving[0]}?", ways, note))
        if way is not None:
            session.submit(Exclude(leaving, turn=way == "turn"))
    else:
        session.submit(Exclude(leaving))


def _turn_behind(session: ChatSession, seq: int) -> int:
    """How many messages that the model sees follow a prompt in its turn; 0 for the newest, and no prompt."""
    behind, newest = 0, True
    for seen in session.presenter.agent_view.newest_first():
        if seen.agent and seen.kind == "user":
            if seen.head.seq == seq:
                return 0 if newest else behind
            behind, newest = 0, False
        elif seen.agent and seen.user:
            behind += 1
    return 0


class ExcludeScreen(ListDialog[Entry]):
    """Dismisses with the message to exclude or to include again, or ``None``."""

    def __init__(self, entries: Sequence[Entry], title: str, verb: str) -> None:
        spec = ListSpec[Entry](
            name="exclude",
            search="filter by number or words of the message",
            columns=(
                Column(lambda row: f"#{row.message}", 7, right=True),
                Column(lambda row: f"  {SAID_BY[row.kind]}", 10),
                Column(lambda row: unmarked(row.title) or "(calls tools)", tone=""),
                Column(lambda row: "excluded" if row.excluded else "", 10, snug=True),
            ),
            title=lambda _: title,
            note=lambda row: _COMES_BACK if row.excluded else _LEAVES,
            empty="No matching message.",
            enter=verb,
        )
        super().__init__(entries, spec)


_LEAVES = "The model no longer sees it. Of a prompt you are asked whether its whole turn goes."
_COMES_BACK = "It is excluded; enter brings it back."


async def exclude_by_number(app: "Host", session: ChatSession, argument: str, *, excluded: bool) -> None:
    """Do what ``/exclude`` and ``/include`` ask for; without a number list the messages with theirs."""
    words = argument.lower().split()
    turn = excluded and words[-1:] == ["turn"]
    numbers = [log_number(word) for word in (words[:-1] if turn else words)]
    entries = [(number, entry_of(session, number)) for number in numbers if number is not None]
    if not words:
        seen = {head.seq for head in session.presenter.agent_view.visible()}
        rows = [
            row
            for row in reversed(session.presenter.view.entries)
            if row.kind in PINNABLE and (row.excluded or (excluded and row.message in seen))
        ]
        if not rows:
            session.say(NOTHING_EXCLUDED)
            return
        what = ("Exclude a message", "exclude or include") if excluded else ("Excluded", "include")
        if (row := await app.push_screen_wait(ExcludeScreen(rows, *what))) is not None:
            await exclude(app, session, [row])
    elif not entries or len(entries) < len(numbers):
        session.say(EXCLUDE_USAGE if excluded else INCLUDE_USAGE)
    else:
        seqs = tuple(entry.message if entry is not None else number for number, entry in entries)
        session.submit(Exclude(seqs, excluded, turn))


async def copy(app: App[Any], session: ChatSession, entries: Sequence[Entry], form: Format) -> None:
    """Put messages on the clipboard."""
    bodies = await session.bodies.read(entries)
    text = await asyncio.to_thread(copied, list(zip(entries, bodies, strict=True)), form)
    if not text:
        which = "this message" if len(entries) == 1 else f"these {len(entries)} messages"
        session.say(f"There is no code block in {which}." if form == "code" else "There is no text in it.")
        return
    several = f"{len(entries)} messages · " if len(entries) > 1 else ""
    lines = count(text.count("\n") + 1, "line")
    session.say(await clipboard.copy(app, text, f"{several}{lines}"))


async def copy_message(app: App[Any], session: ChatSession, argument: str) -> None:
    """Copy the last answer, one before it, or a message by its number; as Markdown unless told otherwise."""
    words = argument.lower().split()
    form: Format = next((known for known in get_args(Format) if words[:1] == [known]), "markdown")
    wanted, *more = (words[1:] if words[:1] == [form] else words) or ["1"]
    answers = [entry for entry in session.presenter.view.entries if entry.kind == "assistant" and entry.chars]
    number = log_number(wanted)
    if more or number is None or (answers and not number):
        session.say(USAGE)
    elif wanted.startswith("#"):
        if (entry := entry_of(session, number)) is not None:
            await copy(app, session, [entry], form)
        else:
            session.say(f"There is no message {wanted}.")
    elif 0 < number <= len(answers):
        await copy(app, session, [answers[-number]], form)
    elif answers:
        has = f"There {'is' if len(answers) == 1 else 'are'} only {count(len(answers), 'answer')}."
        session.say(f"{has} /copy #{number} copies the message with that number.")
    else:
        session.say(NO_ANSWER)


def entry_of(session: ChatSession, number: int) -> Entry | None:
    """The row of a message, by its own log number or that of the call it answers."""
    entries = reversed(session.presenter.view.entries)
    return next((entry for entry in entries if number in (entry.seq, entry.message)), None)


# What is pinned: every message that stays word for word.


@frozen
class PinRow:
    """One pinned message."""

    seq: int
    """Log number."""
    title: str
    tokens: int
    """Counted tokens; 0 where it is not in the next request."""
    in_view: bool
    """Whether the next request holds it."""


_STAYS = "It stays word for word: no compaction takes it, no stage rewrites it."
_HAS_LEFT = "It is not in the next request: it had left the context before it was pinned."


class PinsScreen(ListDialog[PinRow], place="pins"):
    """Dismisses with the message to ``show`` or to ``unpin``, or ``None``."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[PinRow](
        name="pins",
        search="filter by words of the message",
        columns=(
            Column(lambda row: tokens(row.tokens) if row.in_view else "-", 7, right=True),
            Column(lambda row: f"  {row.title}", tone=""),
            Column(lambda row: f"#{row.seq}", 10, right=True),
        ),
        title=lambda it: f"Pinned · {tokens(sum(row.tokens for row in it.rows))} tokens of the next request",
        words=lambda row: row.title,
        note=lambda row: _STAYS if row.in_view else _HAS_LEFT,
        empty="No matching pinned message.",
    )

    def use(self, row: PinRow) -> None:
        self.dismiss(Asked("show", row))


_TITLE_CELLS = 60
NOTHING = "Nothing is pinned. /pin last pins the newest message, /pin #12 another one."
PIN_USAGE = "/{0} takes the number of a message, as in /{0} #12, or last; alone it lists what is pinned."


async def pin(app: "Host", session: ChatSession, argument: str, *, pinned: bool) -> None:
    """Pin or unpin a message that is named; without a name show what is pinned."""
    if not argument:
        await _show_pins(app, session)
        return
    if argument.strip().lower() == "last":
        held = max(session.presenter.agent_view.pins, default=0)
        if pinned:
            # The newest one that can be.
            entries = reversed(session.presenter.view.entries)
            said = (each for each in entries if each.kind in ("user", "assistant", "tool") and not each.left)
            held = next((each.message for each in said if each.chars or each.kind != "assistant"), 0)
        if held:
            _submit(session, held, pinned)
        else:
            session.say("There is no message yet." if pinned else NOTHING)
    elif (number := log_number(argument)) is not None:
        entry = entry_of(session, number)
        _submit(session, entry.message if entry is not None else number, pinned)
    else:
        session.say(PIN_USAGE.format("pin" if pinned else "unpin"))


def _submit(session: ChatSession, seq: int, pinned: bool) -> None:
    """Ask for it and say so; where it is refused, the reason takes that sentence's place."""
    if session.submit(Pin(seq, pinned)):
        titles = (entry.title for entry in session.presenter.view.entries if entry.message == seq)
        title = one_line(next(titles, ""), _TITLE_CELLS)
        session.say(f"{'Pinned' if pinned else 'Unpinned'} #{seq}{f': {title}' if title else ''}")


async def _show_pins(app: "Host", session: ChatSession) -> None:
    """List what is pinned; a chosen one is shown in the conversation."""
    titles = {entry.message: entry for entry in session.presenter.view.entries}
    held = {head.seq: head for head in session.presenter.agent_view.visible()}
    rows = []
    for seq in sorted(session.presenter.agent_view.pins):
        entry, head = titles.get(seq), held.get(seq)
        title = entry.title if entry is not None else (head.title if head is not None else "")
        tokens = round(sum(head.tokens.values()) * session.state.scale) if head is not None else 0
        rows.append(PinRow(seq, title or "(calls tools)", tokens, in_view=head is not None))
    if not rows:
        session.say(NOTHING)
        return
    if (chosen := await app.push_screen_wait(PinsScreen(rows))) is not None:
        seq = chosen.row.seq
        if chosen.what == "unpin":
            _submit(session, seq, pinned=False)
        else:
            session.presenter.jump_to(titles[seq].seq if seq in titles else seq)
