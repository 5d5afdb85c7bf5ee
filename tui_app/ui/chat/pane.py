"""The body of the chat screen: transcript and timeline above prompt, gauge and hints.

The first frame has few widgets; :meth:`ChatPane.complete` adds the others.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_app.settings import Settings
from tui_app.ui.keyboard.keys import (
    COPY,
    MARK_HINTS,
    ROW_HINTS,
    TIMELINE_HINTS,
    TO_MARKS,
    Hint,
    Locked,
    accept_hint,
    as_bindings,
    footer_hints,
)
from tui_app.ui.keyboard.stray_keys import QUIET_S
from tui_app.ui.keyboard.type_ahead import Flow, Typed, typed_key
from tui_app.ui.panels.gauge import ContextGauge, background_forms, marks
from tui_app.ui.panels.header import ChatHeader
from tui_app.ui.panels.output_tail import OutputTail
from tui_app.ui.panels.queue_view import QueueView, Waiting
from tui_app.ui.panels.status import StatusRow
from tui_app.ui.panels.todo import TodoPanel, is_open
from tui_app.ui.panels.welcome import Beginning, Welcome, folder_name, look_around, place_of
from tui_app.ui.prompt.editor import PromptEditor
from tui_app.ui.prompt.row import PromptRow
from tui_app.ui.widgets.hint_row import HintRow, TellsFailures
from tui_app.ui.words.load import BACKGROUND, BLOCKING, NOT_OPEN, Load

if TYPE_CHECKING:
    from tui_app.ui.chat.state import ChatState
    from tui_app.ui.keyboard.type_ahead import TypeAhead
    from tui_app.ui.launch import Launch
    from tui_app.ui.panels.todo import TodoItem
    from tui_app.ui.questions import AskPlace
    from tui_app.ui.row_bodies import LateBodies
    from tui_app.ui.timeline import Timeline
    from tui_app.ui.transcript.find import FindRow
    from tui_app.ui.transcript.transcript import Transcript


class ChatHints(HintRow):
    """Shows the chat's own hints, those of the focused list, or those for marked entries."""

    keymap: reactive[Mapping[str, str]] = reactive(dict, init=False)
    """The user's key mappings."""
    marked: reactive[int] = reactive(0, init=False)
    """Number of marked entries."""
    acting: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Keys that act on the row under the cursor."""
    shell: reactive[bool] = reactive(False, init=False)
    """Whether the prompt is a shell command."""
    planned: reactive[bool] = reactive(False, init=False)
    """Whether there is a plan to accept."""
    locked: reactive[Locked] = reactive("", init=False)
    """Why the session is read-only; empty if it is not."""

    def __init__(self, keymap: Mapping[str, str], *, id: str | None = None) -> None:
        super().__init__(footer_hints(keymap), id=id)
        self.set_reactive(ChatHints.keymap, keymap)

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self.show_hints)

    def show_hints(self) -> None:
        """Show what the keys do for the current focus."""
        focused = self.screen.focused
        if self.shell and not self.locked and isinstance(focused, PromptEditor):
            self.hints = SHELL_HINTS
            return
        # By id, because the classes of these widgets are imported after the first frame.
        places = {each.id for each in focused.ancestors_with_self} if focused is not None else set()
        own, hints = footer_hints(self.keymap), tuple[Hint, ...]()
        if "transcript" in places and self.marked:
            hints = MARK_HINTS
        elif "transcript" in places:
            # The timeline, if visible, comes after the transcript in the focus order.
            is_shown = any(each.display for each in self.screen.query("#timeline"))
            acting = (hint for hint in ROW_HINTS if hint.label in self.acting)
            hints = (*acting, Hint("tab", "timeline" if is_shown else "prompt", 0), own[-1])
        elif "timeline" in places:
            hints = (*TIMELINE_HINTS, own[-1])
        elif "questions" in places:
            # The question shows its own keys; a sign such as the one for help is typed into the prompt.
            beside_it = (hint for hint in own if hint.text in _DURING_QUESTION)
            hints = (Hint("tab", "prompt", 1), *beside_it)
        else:
            hints = (*(TO_MARKS if self.marked else ()), *own)
        if self.marked:
            # The number is always shown; the actions only where their keys work.
            hints = (Hint(f"{self.marked:,}", "marked"), *hints)
        if self.planned:
            hints = (accept_hint(self.keymap), *hints)
        if self.locked:
            way_on = self.locked == "elsewhere" and places.isdisjoint({"transcript", "timeline"})
            hints = (*((COPY,) if way_on else ()), *(hint for hint in hints if not hint.changes))
        self.hints = hints

    watch_keymap = watch_marked = watch_acting = watch_shell = watch_planned = watch_locked = show_hints


_DURING_QUESTION = ("context", "palette")
"""Actions available while a question has the focus."""
SHELL_HINTS = (
    Hint("enter", "run"),
    Hint("!!", "keep it from the model", 2),
    Hint("esc", "back to the prompt", 1),
)
"""Hints while a shell command is typed."""

WIDE = 110
"""Columns from which the timeline is shown next to the chat."""
HIGH = 20
"""Rows from which the list of commands has its full height."""
LEAST = (40, 12)
"""Columns and rows below which only a request for a larger window is shown."""
MORE_ROOM = f"Plimsoll needs {LEAST[0]} columns and {LEAST[1]} rows. Make the window larger."
_GAUGE_STEP = 20
"""Streamed tokens after which the gauge is redrawn: it shows hundreds, and hundreds arrive per second."""


class ChatPane(TellsFailures, Vertical):
    """Lays out the widgets and gives each its part of the state. Scrolling works from the prompt."""

    BINDINGS = as_bindings("pane")

    def __init__(self, settings: Settings, folder: Path, *, id: str | None = None) -> None:
        """Create the widgets.

        Args:
            settings: The user's settings.
            folder: The workspace.
            id: Textual id.
        """
        super().__init__(id=id)
        self._settings = settings
        self._marked_for: object = None
        """The context usage and policy that the gauge's marks were computed for."""
        self._marks = BACKGROUND, BLOCKING
        self._writes_summary = False
        self._streamed = 0
        """Streamed tokens of the answer that the gauge's measured usage does not include yet."""
        self.header, self.status = ChatHeader(id="header"), StatusRow(id="status")
        self.gauge, self.hints = ContextGauge(id="gauge"), ChatHints(settings.keymap, id="hints")
        self.welcome = Welcome(id="welcome")
        self.prompt = PromptRow(folder, id="prompt-row")
        self.keymap = settings.keymap
        """The user's key mappings."""
        self.welcome.keymap = self.prompt.keymap = self.keymap
        self.prompt.editor.vim_keys = settings.vim_keys
        self._place: Callable[[], str] | None = None
        """Returns where the conversation takes place; None until the folder's trust is settled."""
        self._typed = float("-inf")
        """When a key was last pressed in the prompt, in monotonic seconds."""
        self._was_busy = False
        self.type_ahead: TypeAhead | None = None
        """Buffers what is typed while something opens."""
        self._todo_wanted: bool | None = None
        """Whether the user wants the todo list shown; None shows it while it has open items and there is
        room.
        """
        self.set_class(settings.timeline, "-timeline")

    bodies: "LateBodies"
    """Where the transcript gets full texts from."""
    transcript: "Transcript"
    timeline: "Timeline"
    finding: "FindRow"
    questions: "AskPlace | None" = None
    """None until the pane is complete; the three attributes above do not exist before that either."""

    def compose(self) -> ComposeResult:
        yield self.header
        with Horizontal(id="middle"):
            yield self.welcome
        yield Static(id="failure", markup=False)
        yield self.status
        yield self.prompt
        yield self.gauge
        yield self.hints
        self.prompt.set_class(self._settings.plain, "-plain")

    def on_mount(self) -> None:
        self.app.set_class(self._settings.plain, "-plain")
        self.status.keymap = self.keymap
        self.watch(self.prompt, "count", self._show_pending, init=False)

    def use_keymap(self, keymap: Mapping[str, str]) -> None:
        """Show keys everywhere as the user has just mapped them."""
        self.keymap = self.welcome.keymap = self.prompt.keymap = keymap
        self.hints.keymap = self.status.keymap = keymap
        self.transcript.use_keymap(keymap)

    async def complete(self) -> None:
        """Add what the first frame omits: the transcript, the rows above the prompt, and questions."""
        from tui_app.ui.questions import AskPlace
        from tui_app.ui.row_bodies import LateBodies
        from tui_app.ui.timeline import Timeline
        from tui_app.ui.transcript.find import FindRow
        from tui_app.ui.transcript.transcript import Transcript

        self.bodies = LateBodies()
        self.transcript = Transcript(self.bodies, id="transcript")
        self.timeline = Timeline(id="timeline")
        self.transcript.use_keymap(self.keymap)
        self.transcript.plain = self._settings.plain
        self.finding = FindRow(self.transcript, self.bodies, id="find")
        self.todo, self.todo_low = TodoPanel(id="todo"), TodoPanel(id="todo-low")
        questions = AskPlace(id="questions")
        questions.type_ahead = self.type_ahead
        self.queue, self.output = QueueView(id="queue"), OutputTail(id="output", markup=False)
        with self.app.batch_update():
            side = Vertical(self.timeline, self.todo, id="side")
            await self.query_one("#middle").mount(self.transcript, side)
            await self.mount(self.finding, before="#failure")
            await self.mount_all((self.output, self.todo_low, questions), before="#status")
            await self.mount(self.queue, before=self.prompt)
            await self.mount(Static(MORE_ROOM, id="more-room", markup=False))
        self.questions = questions
        self.watch(self.screen, "focused", self._keep_begun, init=False)

    @property
    def draft(self) -> str:
        """The text in the prompt and in a question's input."""
        box = self.questions.box if self.questions is not None else None
        return "\n".join(filter(None, (self.prompt.editor.draft, box.written if box is not None else "")))

    def show(self, state: "ChatState") -> None:
        """Give each widget its part of the state."""
        header, gauge, hints = self.header, self.gauge, self.hints
        header.title, header.model = state.title, state.model
        header.policy, header.costs, header.goal = state.policy, state.costs, state.goal
        effort = state.effort or self._settings.thinking
        header.effort = "" if effort == "default" else effort
        if (measured := (state.usage, state.policy)) != self._marked_for:
            self._marked_for = measured
            self._marks = marks(self._settings, *measured)
        gauge.load = Load(state.usage, *self._marks, gauge.load.pending, state.tokens_leaving)
        gauge.caption = NOT_OPEN if state.locked == "unusable" and state.usage is None else ""
        self._writes_summary = state.writes_summary
        self._streamed = -(-state.unlogged // 4) // _GAUGE_STEP * _GAUGE_STEP
        self._show_pending()
        waiting = Waiting(state.queue, state.sending, state.paused, state.turn, self.prompt.editor.kind)
        self.queue.waiting = waiting
        self.status.status, self.status.tasks = state.status, len(state.tasks)
        self.status.agents = len(state.forks), len(state.agents)
        self.prompt.editor.queued = bool(state.queue)
        hints.notices, hints.locked, hints.planned = state.unread, state.locked, state.planned
        way_out = "" if state.turn else "esc cancels"
        hints.meanwhile = background_forms(state.background, way_out)
        self.prompt.mode = state.mode
        self.output.output = state.output
        self._show_todos(state.todos)
        # A question takes the focus if the user is not writing, and returns it when answered.
        place = self.questions
        assert place is not None
        had_keys, focused, editor = place.has_keys, self.screen.focused, self.prompt.editor
        self.set_class(state.waits_for_user, "-asking")
        is_new, written = place.show(state.question, state.asked)
        if written:
            editor.call_later(editor.insert, written)
        if had_keys and focused is not None and (is_new or not state.waits_for_user):
            self._wait_for(focused)
        if had_keys and not state.waits_for_user:
            # Immediately, because the next question checks the focus.
            self.screen.set_focus(editor)
        elif is_new:
            self._offer_keys()
        self._name_timeline()
        if self._was_busy and not state.busy:
            self.name_place()
        self._was_busy = state.busy

    def _show_todos(self, items: tuple["TodoItem", ...]) -> None:
        is_wanted = is_open(items) if self._todo_wanted is None else self._todo_wanted
        self.todo.items = self.todo_low.items = items
        self.todo.is_wanted, self.todo_low.is_wanted = is_wanted, bool(self._todo_wanted)
        self.set_class(is_wanted and bool(items), "-todo")

    def toggle_todos(self) -> bool:
        """Show or hide the todo list, under the timeline or above the prompt.

        Returns:
            Whether there is one.
        """
        panel = self.todo_low if self.screen.has_class("-narrow") else self.todo
        self._todo_wanted = not panel.is_wanted
        self._show_todos(panel.items)
        return bool(panel.items)

    def _offer_keys(self) -> None:
        """Focus a question once the user has not typed for `QUIET_S`, unless there is a draft."""
        place, editor = self.questions, self.prompt.editor
        if place is None:
            return
        there = self.screen.focused is editor or place.has_keys
        if (box := place.box) is None or not editor.is_empty or not there:
            return
        if monotonic() - self._typed >= QUIET_S:
            box.take_keys()
        else:
            self.set_timer(QUIET_S, self._offer_keys)

    @on(events.Resize)
    def _name_timeline(self) -> None:
        if self.questions is None:
            return
        folded = self.size.width < WIDE and self.timeline.count
        self.hints.folded = f"timeline {self.timeline.count}" if folded else ""

    def _show_pending(self) -> None:
        self.gauge.load = replace(self.gauge.load, pending=self._streamed + self.prompt.count)

    async def painted(self) -> None:
        """Wait until everything shown so far is painted."""
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()

    def complain(self, text: str) -> None:
        """Show one row above the prompt; an empty text hides it."""
        row = self.query_one("#failure", Static)
        row.update(text)
        row.display = bool(text)

    def begin(self, launch: "Launch") -> None:
        """Show the welcome view of a new conversation: its model, policy and mode."""
        self.show_conversation(False)
        self.header.model, self.header.policy = launch.first_model, launch.settings.policy
        self.prompt.mode = launch.mode or launch.settings.mode
        # What is known before anything is read.
        self.welcome.beginning = Beginning(folder=folder_name(launch), model=launch.first_model)

    def show_conversation(self, there_is_one: bool = True) -> None:
        """Show the conversation, or the welcome view."""
        self.set_class(not there_is_one, "-empty")
        self.header.empty = not there_is_one

    async def look_around(self, launch: "Launch") -> None:
        """Show where the conversation takes place and what it starts with; reads files in a thread."""
        self._place = partial(place_of, launch)
        beginning = await asyncio.to_thread(look_around, launch)
        self.header.place = beginning.folder
        self.welcome.beginning = beginning

    @work(group="place", exclusive=True)
    async def name_place(self) -> None:
        """Update where the conversation takes place: a turn may have changed the branch and files."""
        if self._place is not None:
            self.header.place = await asyncio.to_thread(self._place)

    @on(PromptEditor.Typed)
    def follow_draft(self) -> None:
        """Update the hints for this draft."""
        self.hints.shell = self.prompt.editor.is_shell
        if self.questions is not None:
            self.queue.waiting = self.queue.waiting._replace(draft=self.prompt.editor.kind)
        self._offer_keys()

    @on(PromptEditor.Submitted)
    def uncover(self) -> None:
        """Uncover the answer to a prompt if the timeline is shown over the chat."""
        self.remove_class("-over")

    def on_timeline_jump(self, event: "Timeline.Jump") -> None:
        """Go to an entry of the timeline, closing a timeline that would cover it."""
        self.remove_class("-over")
        self.transcript.visit(event.entry)

    def action_find(self) -> None:
        flow: Flow = self.finding.open
        flow = self.type_ahead.during(flow) if self.type_ahead is not None else flow
        self.run_worker(flow, group="find", exclusive=True)

    def on_find_row_closed(self, event: "FindRow.Closed") -> None:
        """Focus the hit that the user went to, or the prompt."""
        event.stop()
        (self.transcript if event.arrived else self.prompt.editor).focus()

    def step_back(self) -> bool:
        """Close the find bar, unmark all, or uncover the chat; returns whether anything was done."""
        if self.finding.hide() or self.transcript.unmark():
            return True
        # While something runs, esc in the prompt stops that instead.
        stops = self.status.status.busy and not self.timeline.has_focus
        if stops or not (self.has_class("-over") and self.screen.has_class("-narrow")):
            return False
        self.remove_class("-over")
        self.prompt.editor.focus()
        return True

    def on_transcript_marks_changed(self, event: "Transcript.MarksChanged") -> None:
        """Show the actions for marked entries in the bottom row."""
        self.hints.marked = event.count

    def holds_back(self, event: Typed) -> bool:
        """Redirect keys meant for the prompt when a question has just appeared; returns whether it did."""
        if (place := self.questions) is None:
            return False
        if self.screen.focused is self.prompt.editor:
            self._typed = monotonic()
        strays = box.strays(event) if (box := place.box) is not None else ()
        for each in strays:
            self._write(each)
        return bool(strays)

    def _keep_begun(self) -> None:
        """Move a letter that could have been an answer to the prompt once the question has lost the focus."""
        place = self.questions
        begun = place.box.lone.take() if place and place.box and not place.has_keys else ""
        if begun:
            self.prompt.editor.post_message(typed_key(begun, begun))

    def _wait_for(self, widget: Widget) -> None:
        """Buffer keys until messages already sent to a widget that lost the focus are handled."""
        if (ahead := self.type_ahead) is not None and ahead.opening is None:
            widget.call_later(ahead.end, ahead.begin(opens=False))

    def action_answer(self) -> None:
        if self.questions is not None and (box := self.questions.box) is not None:
            box.action_answer()

    async def on_key(self, event: events.Key) -> None:
        """Let the user type whatever has the focus: letters that no widget uses go to the prompt."""
        # Bindings of outer nodes would run after the letters typed after their key.
        bound = self.screen.active_bindings.get(event.key)
        if self.type_ahead is not None and self.type_ahead.hold(event):
            event.stop()
        elif event.is_printable and bound is None:
            event.stop()
            self._write(typed_key(event.key, event.character))
        # Not for the widgets inside: their messages would end here, as if this widget had posted them.
        elif (
            bound is not None
            and bound.node in self.ancestors
            and await self.app.run_action(bound.binding.action, bound.node)
        ):
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Send a paste that no widget uses to the prompt, as with letters."""
        event.stop()
        self._write(events.Paste(event.text))

    def _write(self, event: Typed) -> None:
        """Send an event to the prompt and focus it, so that what is typed next goes there too."""
        # Immediately: ``focus`` would wait for keys already queued.
        self.screen.set_focus(self.prompt.editor)
        self.prompt.editor.post_message(event)

    def action_page(self, step: int) -> None:
        self.transcript.action_page(step)

    def action_ends(self, end: int) -> None:
        self.transcript.action_last() if end else self.transcript.action_first()

    def action_timeline(self) -> None:
        """Show or hide the timeline: next to the chat, or focused and over the chat if there is no room."""
        over = self.screen.has_class("-narrow")
        self.toggle_class("-over" if over else "-timeline")
        if over:
            target = self.timeline if self.has_class("-over") else self.prompt.editor
            self.call_after_refresh(target.focus)
        self.call_after_refresh(self.hints.show_hints)

    async def action_details(self) -> None:
        """Open the row under the cursor; else the summary being written, or the newest row."""
        if self.timeline.has_focus and self.timeline.cursor is not None:
            self.timeline.action_select()
        elif self.transcript.has_focus:
            self.transcript.action_details()
        elif self._writes_summary:
            await self.run_action("screen.read_along")
        else:
            self.transcript.open_newest()
