"""The body of the chat screen: transcript and timeline over prompt, gauge and hints.

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
    """Shows the chat's own hints, those of the focused list, or those of marked entries."""

    keymap: reactive[Mapping[str, str]] = reactive(dict, init=False)
    """Keys of the actions that have others than the built-in ones."""
    marked: reactive[int] = reactive(0, init=False)
    """Entries of the conversation that are marked."""
    acting: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Keys that act on the row under the cursor."""
    shell: reactive[bool] = reactive(False, init=False)
    """Whether a command of the user's is typed."""
    planned: reactive[bool] = reactive(False, init=False)
    """Whether there is a plan to accept."""
    locked: reactive[Locked] = reactive("", init=False)
    """Why the session can only be looked at; empty when it can be changed."""

    def __init__(self, keymap: Mapping[str, str], *, id: str | None = None) -> None:
        super().__init__(footer_hints(keymap), id=id)
        self.set_reactive(ChatHints.keymap, keymap)

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self.show_hints)

    def show_hints(self) -> None:
        """Say what the keys do where the focus is now."""
        focused = self.screen.focused
        if self.shell and not self.locked and isinstance(focused, PromptEditor):
            self.hints = SHELL_HINTS
            return
        # By their names: the classes of these widgets come behind the first frame.
        places = {each.id for each in focused.ancestors_with_self} if focused is not None else set()
        own, hints = footer_hints(self.keymap), tuple[Hint, ...]()
        if "transcript" in places and self.marked:
            hints = MARK_HINTS
        elif "transcript" in places:
            # The timeline comes next behind the conversation where it is shown.
            beside = any(each.display for each in self.screen.query("#timeline"))
            acting = (hint for hint in ROW_HINTS if hint.label in self.acting)
            hints = (*acting, Hint("tab", "timeline" if beside else "prompt", 0), own[-1])
        elif "timeline" in places:
            hints = (*TIMELINE_HINTS, own[-1])
        elif "questions" in places:
            # Its own keys stand in it; a sign such as the one for help goes to the prompt.
            beside_it = (hint for hint in own if hint.text in _BESIDE_QUESTION)
            hints = (Hint("tab", "prompt", 1), *beside_it)
        else:
            hints = (*(TO_MARKS if self.marked else ()), *own)
        if self.marked:
            # They are counted everywhere; what is done with them is named where the keys act.
            hints = (Hint(f"{self.marked:,}", "marked"), *hints)
        if self.planned:
            hints = (accept_hint(self.keymap), *hints)
        if self.locked:
            way_on = self.locked == "elsewhere" and places.isdisjoint({"transcript", "timeline"})
            hints = (*((COPY,) if way_on else ()), *(hint for hint in hints if not hint.changes))
        self.hints = hints

    watch_keymap = watch_marked = watch_acting = watch_shell = watch_planned = watch_locked = show_hints


_BESIDE_QUESTION = ("context", "palette")
"""What can be looked at while a question has the keys."""
SHELL_HINTS = (
    Hint("enter", "run"),
    Hint("!!", "keep it from the model", 2),
    Hint("esc", "back to the prompt", 1),
)
"""What the keys do while a command of the user's is typed."""

WIDE = 110
"""Columns from which the timeline stands beside the chat."""
HIGH = 20
"""Rows from which the list of commands has its full height."""
LEAST = (40, 12)
"""Columns and rows below which there is only a sentence that asks for more room."""
MORE_ROOM = f"Plimsoll needs {LEAST[0]} columns and {LEAST[1]} rows. Make the window larger."
_GAUGE_STEP = 20
"""Streamed tokens after which the gauge is drawn again; it shows hundreds, and a second brings hundreds."""


class ChatPane(TellsFailures, Vertical):
    """Lays the widgets out and hands each its part of the state. Scrolling works from the prompt."""

    BINDINGS = as_bindings("pane")

    def __init__(self, settings: Settings, folder: Path, *, id: str | None = None) -> None:
        """Make the widgets.

        Args:
            settings: What the user has set.
            folder: The workspace.
            id: Textual id.
        """
        super().__init__(id=id)
        self._settings = settings
        self._marked_for: object = None
        """Measured context and policy that the gauge's marks are of."""
        self._marks = BACKGROUND, BLOCKING
        self._writes_summary = False
        self._streamed = 0
        """Tokens of the answer that the gauge's measure does not hold yet."""
        self.header, self.status = ChatHeader(id="header"), StatusRow(id="status")
        self.gauge, self.hints = ContextGauge(id="gauge"), ChatHints(settings.keymap, id="hints")
        self.welcome = Welcome(id="welcome")
        self.prompt = PromptRow(folder, id="prompt-row")
        self.keymap = settings.keymap
        """Keys that the settings have changed."""
        self.welcome.keymap = self.prompt.keymap = self.keymap
        self.prompt.editor.vim_keys = settings.vim_keys
        self._place: Callable[[], str] | None = None
        """Looks where the conversation takes place; None until the folder's trust is settled."""
        self._typed = float("-inf")
        """When a key was pressed in the prompt last."""
        self._was_busy = False
        self.type_ahead: TypeAhead | None = None
        """Takes what is typed behind something that opens."""
        self._todo_wanted: bool | None = None
        """Whether the user wants to see the todo list; None shows it while it is open and there is room."""
        self.set_class(settings.timeline, "-timeline")

    bodies: "LateBodies"
    """Where the transcript gets full texts from."""
    transcript: "Transcript"
    timeline: "Timeline"
    finding: "FindRow"
    questions: "AskPlace | None" = None
    """None until the pane is complete, as the three above are not there before."""

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
        """Name keys everywhere as the user has just set them."""
        self.keymap = self.welcome.keymap = self.prompt.keymap = keymap
        self.hints.keymap = self.status.keymap = keymap
        self.transcript.use_keymap(keymap)

    async def complete(self) -> None:
        """Add what the first frame does without: the conversation, the rows above the prompt, questions."""
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
        """What is written in the prompt and for a question."""
        box = self.questions.box if self.questions is not None else None
        return "\n".join(filter(None, (self.prompt.editor.draft, box.written if box is not None else "")))

    def show(self, state: "ChatState") -> None:
        """Hand each widget its part of the state."""
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
        # The keys go to what is asked where the user is not writing, and back when it is answered.
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
            # At once: the next question looks who has the keys.
            self.screen.set_focus(editor)
        elif is_new:
            self._offer_keys()
        self._name_timeline()
        if self._was_busy and not state.busy:
            self.name_place()
        self._was_busy = state.busy

    def _show_todos(self, items: tuple["TodoItem", ...]) -> None:
        """Show the list under the timeline while it is open, or as the user wants it."""
        wanted = is_open(items) if self._todo_wanted is None else self._todo_wanted
        self.todo.items = self.todo_low.items = items
        self.todo.is_wanted, self.todo_low.is_wanted = wanted, bool(self._todo_wanted)
        self.set_class(wanted and bool(items), "-todo")

    def toggle_todos(self) -> bool:
        """Show or hide the todo list: under the timeline, or above the prompt; whether there is one."""
        panel = self.todo_low if self.screen.has_class("-narrow") else self.todo
        self._todo_wanted = not panel.is_wanted
        self._show_todos(panel.items)
        return bool(panel.items)

    def _offer_keys(self) -> None:
        """Give the keys to a question once the user has not typed for a moment, unless there is a draft."""
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
        """Wait until what was shown so far is on the screen."""
        done = asyncio.Event()
        self.call_after_refresh(done.set)
        await done.wait()

    def complain(self, text: str) -> None:
        """Show one row above the prompt; empty hides it."""
        row = self.query_one("#failure", Static)
        row.update(text)
        row.display = bool(text)

    def begin(self, launch: "Launch") -> None:
        """Show how a conversation begins, in place of an empty one: who will answer, how far tools go."""
        self.show_conversation(False)
        self.header.model, self.header.policy = launch.first_model, launch.settings.policy
        self.prompt.mode = launch.mode or launch.settings.mode
        # What is known before anything is read.
        self.welcome.beginning = Beginning(folder=folder_name(launch), model=launch.first_model)

    def show_conversation(self, there_is_one: bool = True) -> None:
        """Show the conversation, or how one begins."""
        self.set_class(not there_is_one, "-empty")
        self.header.empty = not there_is_one

    async def look_around(self, launch: "Launch") -> None:
        """Say where the conversation takes place, and what it begins with; read in a thread."""
        self._place = partial(place_of, launch)
        beginning = await asyncio.to_thread(look_around, launch)
        self.header.place = beginning.folder
        self.welcome.beginning = beginning

    @work(group="place", exclusive=True)
    async def name_place(self) -> None:
        """Say again where the conversation takes place: a turn may have changed branch and files."""
        if self._place is not None:
            self.header.place = await asyncio.to_thread(self._place)

    @on(PromptEditor.Typed)
    def follow_draft(self) -> None:
        """Say what the keys do with this draft."""
        self.hints.shell = self.prompt.editor.is_shell
        if self.questions is not None:
            self.queue.waiting = self.queue.waiting._replace(draft=self.prompt.editor.kind)
        self._offer_keys()

    @on(PromptEditor.Submitted)
    def uncover(self) -> None:
        """Let the answer to a prompt be seen where the timeline lies over the chat."""
        self.remove_class("-over")

    def on_timeline_jump(self, event: "Timeline.Jump") -> None:
        """Go to an entry of the timeline; where that lies over the chat, it would cover it."""
        self.remove_class("-over")
        self.transcript.visit(event.entry)

    def action_find(self) -> None:
        flow: Flow = self.finding.open
        flow = self.type_ahead.during(flow) if self.type_ahead is not None else flow
        self.run_worker(flow, group="find", exclusive=True)

    def on_find_row_closed(self, event: "FindRow.Closed") -> None:
        """Read on at the place that was found, or go back to the prompt."""
        event.stop()
        (self.transcript if event.arrived else self.prompt.editor).focus()

    def step_back(self) -> bool:
        """Stop looking for words, unmark all, or close what covers the chat; whether there was any of it."""
        if self.finding.hide() or self.transcript.unmark():
            return True
        # While something runs, esc in the prompt is to stop that.
        stops = self.status.status.busy and not self.timeline.has_focus
        if stops or not (self.has_class("-over") and self.screen.has_class("-narrow")):
            return False
        self.remove_class("-over")
        self.prompt.editor.focus()
        return True

    def on_transcript_marks_changed(self, event: "Transcript.MarksChanged") -> None:
        """Say in the bottom row what can be done with marked entries."""
        self.hints.marked = event.count

    def holds_back(self, event: Typed) -> bool:
        """Let a user who was writing when a question came up go on writing; whether it is written."""
        if (place := self.questions) is None:
            return False
        if self.screen.focused is self.prompt.editor:
            self._typed = monotonic()
        strays = box.strays(event) if (box := place.box) is not None else ()
        for each in strays:
            self._write(each)
        return bool(strays)

    def _keep_begun(self) -> None:
        """Write a letter that waits to be an answer where the keys are now."""
        place = self.questions
        begun = place.box.lone.take() if place and place.box and not place.has_keys else ""
        if begun:
            self.prompt.editor.post_message(typed_key(begun, begun))

    def _wait_for(self, widget: Widget) -> None:
        """Hold what is typed behind what is on its way to a widget that has lost the keys."""
        if (ahead := self.type_ahead) is not None and ahead.opening is None:
            widget.call_later(ahead.end, ahead.begin(opens=False))

    def action_answer(self) -> None:
        if self.questions is not None and (box := self.questions.box) is not None:
            box.action_answer()

    async def on_key(self, event: events.Key) -> None:
        """Let a user type whatever has the focus: letters no widget wants go to the prompt."""
        # Bindings further out would act behind letters that are typed after their key.
        bound = self.screen.active_bindings.get(event.key)
        if self.type_ahead is not None and self.type_ahead.hold(event):
            event.stop()
        elif event.is_printable and bound is None:
            event.stop()
            self._write(typed_key(event.key, event.character))
        # Not for the widgets within: what they post would end here, as if this had posted it.
        elif (
            bound is not None
            and bound.node in self.ancestors
            and await self.app.run_action(bound.binding.action, bound.node)
        ):
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Let a paste that no widget wants go to the prompt, as letters do."""
        event.stop()
        self._write(events.Paste(event.text))

    def _write(self, event: Typed) -> None:
        """Write what went elsewhere; what is typed behind it means the prompt too, from now on."""
        # At once: a call of ``focus`` waits behind keys that are here already.
        self.screen.set_focus(self.prompt.editor)
        self.prompt.editor.post_message(event)

    def action_page(self, step: int) -> None:
        self.transcript.action_page(step)

    def action_ends(self, end: int) -> None:
        self.transcript.action_last() if end else self.transcript.action_first()

    def action_timeline(self) -> None:
        """Show or hide the timeline: beside the chat, or over it, with the keys, where there is no room."""
        over = self.screen.has_class("-narrow")
        self.toggle_class("-over" if over else "-timeline")
        if over:
            target = self.timeline if self.has_class("-over") else self.prompt.editor
            self.call_after_refresh(target.focus)
        self.call_after_refresh(self.hints.show_hints)

    async def action_details(self) -> None:
        """Open the marked row where the keys are; from elsewhere what is being written, or the newest row."""
        if self.timeline.has_focus and self.timeline.cursor is not None:
            self.timeline.action_select()
        elif self.transcript.has_focus:
            self.transcript.action_details()
        elif self._writes_summary:
            await self.run_action("screen.read_along")
        else:
            self.transcript.open_newest()
