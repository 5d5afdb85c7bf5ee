"""The presenter: turns events into widget updates."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from textual.signal import Signal

from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    MemoryPressure,
    Record,
    ShellResult,
    ToolOutput,
    TurnEnd,
    TurnRetry,
    TurnStart,
)
from tui_app.providers import OFFLINE_MODEL
from tui_app.session.event_heads import Head, head_of
from tui_app.session.figures.costs import Costs
from tui_app.session.measurement import Known
from tui_app.session.preview import Preview
from tui_app.session.stats import SessionStats
from tui_app.session.stores.store import SessionInfo
from tui_app.session.views.agent_view import AgentView
from tui_app.session.views.entries import Entry, EntryState
from tui_app.session.views.user_view import Change, UserView
from tui_app.ui.chat.pane import ChatPane
from tui_app.ui.chat.state import ChatState, advance, moved_on, saying
from tui_app.ui.transcript.entries import Rail

LIVE = -1
"""Number of the running compaction's row; log numbers are positive."""


def running_compaction(state: ChatState) -> Entry | None:
    """Return the row for a running compaction, or None."""
    status, how, share = state.status, "", -1.0
    if state.reviewing:
        how = "waits for you"
    elif state.compacting:
        how = status.trigger.replace("_", " ")
        share = (status.part - 1) / status.parts if status.parts > 1 and status.part else share
    elif state.background is not None:
        how, share = "background", state.background
    title = f"{how} · {share:.0%}" if share >= 0 else how
    return Entry(seq=LIVE, kind="compaction", time=0.0, title=title, state="running") if how else None


_LIVE_CHARS = 20_000
"""Characters kept of the output of a running shell command of the user."""


class Presenter:
    """Shows one session in the chat pane, and keeps the screen's state.

    Args:
        pane: Contains the widgets.
    """

    def __init__(self, pane: ChatPane) -> None:
        self.state = ChatState()
        self.view = UserView()
        self.agent_view = AgentView()
        self.last = 0
        """Log number of the newest event shown."""
        self._since_begun: list[Head] = []
        """Events applied while older rows are still missing."""
        self._accounted = 0
        """Log number of the newest event included in the costs read from the log."""
        self.setting: int | None = None
        """Context window set by the user, in tokens."""
        self.policy = ""
        """Name of the policy set by the user; used if none was chosen for the session."""
        self._pane = pane
        self.changed: Signal[ChatState] = Signal(pane, "changed")
        """Published to screens above the chat, which show more than the state, and to the terminal title."""
        self._transcript = pane.transcript
        self._timeline = pane.timeline

    def begin(self, preview: Preview) -> None:
        """Paint a session that was read from the log."""
        self.view, self.agent_view, self.last = preview.view, preview.agent_view, preview.last
        self._show_rail()
        self._transcript.set_entries([entry for entry in self.view.entries if _is_transcript_entry(entry)])
        self._timeline.set_entries(self.view.entries)
        self._pane.prompt.editor.prompts.extend(preview.prompts)
        self._pane.prompt.editor.commands.extend(preview.commands)
        self.remeasure(preview.info, preview.known)

    def complete(self, view: UserView, last: int) -> None:
        """Add the older rows of a long session.

        Args:
            view: All its rows up to a log number.
            last: That number.
        """
        begun, self.view = self.view, view
        for head in self._since_begun:
            if head.seq > last:
                view.apply(head)
        self._since_begun.clear()
        older = [entry for entry in view.entries if entry.seq < begun.since]
        self._transcript.prepend([entry for entry in older if _is_transcript_entry(entry)])
        self._timeline.prepend(older)
        pairs = zip(view.entries[len(older) :], begun.entries, strict=False)
        self._show(Change(entry, new=False) for entry, shown in pairs if entry != shown)

    def catch_up(self, heads: Iterable[Head]) -> None:
        """Show events of the log that arrived before the session was listened to."""
        for head in heads:
            self._fold(head)

    def jump_to(self, seq: int) -> None:
        """Show the row of a message, or of the call that a result belongs to; does nothing for 0."""
        rows = (each.seq for each in self.view.entries if seq and seq in (each.seq, each.result_seq))
        self._transcript.jump_to(next(rows, seq))

    def redraw(self, entry: Entry) -> None:
        shown = next((each for each in reversed(self.view.entries) if each.seq == entry.seq), None)
        if shown is not None:
            self._transcript.replace(self._as_shown(shown))

    def remeasure(self, info: SessionInfo, known: Known) -> None:
        """Set header and gauge from the log, initially and after another window has written it.

        Args:
            info: The session's row in the list.
            known: Model and policy information from the log.
        """
        usage = known.usage(self.agent_view, info.model, self.setting)
        policy = known.policy or self.policy
        goal = known.goal.progress if known.goal is not None else ""
        state = replace(self.state, title=info.title, model=info.model, usage=usage, policy=policy)
        self.update(replace(state, effort=known.effort, mode=known.mode, goal=goal))

    def account(self, stats: SessionStats, last: int) -> None:
        """Start with the session's costs so far; call it before `present`.

        Args:
            stats: Its figures.
            last: Log number of the newest event included in them.
        """
        self._accounted = last
        usd = stats.cost_usd if stats.cost_usd or (stats.models and not stats.unpriced) else None
        costs = Costs(usd=usd, unpriced=stats.unpriced, unpriced_models=tuple(stats.unpriced_models))
        self.update(replace(self.state, costs=costs))

    def present(self, records: Sequence[Record]) -> None:
        """Show a batch of events with one state update."""
        state = replace(self.state, keymap=self._pane.keymap)
        for record in records:
            before, state = state, advance(state, record.data, time.monotonic())
            if 0 < record.seq <= self._accounted:
                # Its cost is already included in the figures read from the log.
                state = replace(state, costs=before.costs)
            if isinstance(record.data, Error) and not record.seq:
                # An error that is not in the log has no row.
                text = f"{record.data.message} {record.data.hint}".strip()
                state = saying(state, state.worded(text, *record.data.actions))
            if isinstance(record.data, ToolOutput | ShellResult):
                self._show_output(record.data)
            self._draw(record)
            if record.data.ROW is None or state.status.kind != "message" or not self._transcript.follows:
                continue
            # The row with this text and its actions is visible.
            if isinstance(record.data, CompactionComplete) and record.data.outcome == "success":
                state = replace(state, status=replace(state.status, notes=()))
            elif state.status.text == record.data.headline():
                state = moved_on(state)
        self.update(state)

    def update(self, state: ChatState) -> None:
        was, self.state = self.state, state
        changed = _unallowed(was).items() ^ _unallowed(state).items()
        rows = map(self.view.row_of_call, sorted({call for call, _ in changed}))
        self._show([Change(row, new=False) for row in rows if row is not None])
        self._timeline.running = running_compaction(state)
        self._transcript.scale = self._timeline.scale = state.scale
        if state.leaving != was.leaving:
            self._show_rail()
        self._pane.show(state)
        self.changed.publish(state)

    def withdraw_prompt(self, text: str) -> None:
        """Remove a restored prompt from the editor unless it was changed; ``up`` still recalls it."""
        editor = self._pane.prompt.editor
        if editor.draft == text:
            editor.clear_draft()
        elif editor.draft.startswith(f"{text}\n"):
            # Another prompt was put back before it, or the user has written after it.
            editor.replace_draft(editor.draft.removeprefix(f"{text}\n"))

    def _draw(self, record: Record) -> None:
        match record.data:
            case TurnStart():
                self._transcript.live_start()
            case AssistantDelta(text=text, thinking=thinking):
                self._transcript.live_append(text, thinking)
            case AssistantMessage() | TurnRetry():
                self._transcript.live_end()
            case MemoryPressure():
                self._transcript.shed()
            case TurnEnd(prompt=prompt):
                self._transcript.live_end()
                if prompt:
                    self._pane.prompt.editor.restore_prompt(prompt)
        if record.seq:
            self._fold(head_of(record.seq, record.time, record.data))
        if isinstance(record.data, AssistantMessage) and record.data.model == OFFLINE_MODEL:
            # Its first quotation is its best one.
            self._transcript.show_beginning(record.seq)

    def _show_output(self, event: ToolOutput | ShellResult) -> None:
        """Show the output of a user's shell command in its row, while it runs."""
        live = self._pane.bodies.live
        row = self.view.row_of_call(event.id if isinstance(event, ShellResult) else event.tool_call_id)
        if row is None or row.kind != "shell":
            return
        if isinstance(event, ShellResult):
            live.pop(row.seq, None)
            return
        live[row.seq] = (live.get(row.seq, "") + event.text)[-_LIVE_CHARS:]
        self._transcript.replace(replace(row, chars=len(live[row.seq])))

    def _fold(self, head: Head) -> None:
        if head.seq <= self.last:
            return
        self.last = head.seq
        if self.view.since:
            self._since_begun.append(head)
        if self.agent_view.apply(head):
            self._show_rail()
        self._show(self.view.apply(head))

    def _show_rail(self) -> None:
        """Show what the model sees; messages after the last event count as seen."""
        seen, shortened = self.agent_view.in_sight()
        since = sorted(seen)[1] if len(seen) > 1 else 0
        rail = Rail(seen, shortened, since, self.last, self.state.leaving)
        self._transcript.show_rail(rail)
        self._timeline.rail = rail

    def _as_shown(self, row: Entry) -> Entry:
        """Show a call that waits for approval as not running."""
        if row.state == "running":
            for call, how in _unallowed(self.state).items():
                if self.view.row_of_call(call) == row:
                    return replace(row, state=how)
        return row

    def _show(self, changes: Iterable[Change]) -> None:
        """Show how one event changed the rows; a rewind changes thousands at once."""
        changed = []
        for change in changes:
            if not change.new:
                changed.append(self._as_shown(change.entry))
                continue
            entry = self._as_shown(change.entry)
            if _is_transcript_entry(entry):
                self._pane.show_conversation()
                self._transcript.append(entry)
            self._timeline.append(entry)
        if changed:
            self._transcript.replace(*changed)
            self._timeline.replace(*changed)


def _unallowed(state: ChatState) -> dict[str, EntryState]:
    """Return the state of each call that waits for the user: asked now, or waiting."""
    asked = (each.tool_call_id for each in (state.question, state.asked) if each is not None)
    return {**dict.fromkeys(state.ahead, "waiting"), **dict.fromkeys(asked, "asking")}


def _is_transcript_entry(entry: Entry) -> bool:
    """Return whether a row belongs in the transcript; checkpoints and approvals are in the timeline only."""
    return entry.kind not in ("checkpoint", "approval")
