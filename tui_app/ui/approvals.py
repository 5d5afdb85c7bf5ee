"""A tool's question, above the prompt: what it would do, and four answers.

It comes up while a user may be writing. So it takes the focus only from an empty prompt in which nobody
has typed for a moment, and for another moment letters still go to the prompt. All other letters always do,
with the one in front of them: what begins a word is no yes.
"""

from collections.abc import Callable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Literal

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Static

from tui_app.text import visible
from tui_app.ui.keys import Hint, place_bindings
from tui_app.ui.long_text import ExactStatic, GrownScroll
from tui_app.ui.text import UNICODE, Glyphs, count, cut_cells, one_line
from tui_app.ui.type_ahead import QUIET_S, LoneLetter
from tui_app.ui.widgets import HintRow

# What is asked and answered is loaded behind the first frame, which only holds the empty box.
if TYPE_CHECKING:
    from tui_app.conversation.approvals import Decision
    from tui_app.events import ApprovalRequested

# The words of a question about a tool. What would be done is shown as it is: nothing in it can hide.

MOST_LINES = 2_000
"""Lines painted of one question; more are counted."""
_LINE_CHARS = 4_000


def question_title(asked: "ApprovalRequested", glyphs: Glyphs) -> Content:
    """What is asked, in one line: ``Allow edit_file src/app.py?  +3 -1``."""
    subject = f" {cut_cells(visible(asked.subject), 120)}" if asked.kind in ("file", "address") else ""
    note = f"  {one_line(asked.note, 60)}" if asked.note else ""
    more = f" {glyphs.separator} {asked.waiting} more after this" if asked.waiting else ""
    return Content.assemble(
        ("Allow ", "bold"),
        (f"{one_line(asked.tool, 60)}{subject}?", "bold"),
        (f"{note}{more}", "$text-muted"),
    )


def question_detail(asked: "ApprovalRequested", *, bare: bool = False) -> Content:
    """What would be done, whole: the diff, the command, the arguments.

    Args:
        asked: The question.
        bare: Whether to leave out the two lines of a diff that only name the file.
    """
    lines = list(_lines(asked))
    if bare and asked.kind == "file":
        before, _, rest = asked.detail.partition("\n")
        if before.startswith("--- ") and rest.startswith("+++ ") and "\n" in rest:
            lines = lines[2:]
    left = len(lines) - MOST_LINES
    shown = lines[:MOST_LINES]
    if left > 0:
        shown.append(
            Content.styled(
                f"{count(left, 'more line')} {'is' if left == 1 else 'are'} not shown", "$text-warning"
            )
        )
    return Content("\n").join(shown)


def _lines(asked: "ApprovalRequested") -> Iterator[Content]:
    if asked.kind == "file":
        yield from (_diff_line(line) for line in asked.detail.split("\n"))
        return
    sign = "$ " if asked.kind == "command" else ""
    for number, line in enumerate(asked.subject.split("\n")):
        yield Content.styled(f"{'  ' if number and sign else sign}{_bounded(line)}", "bold")
    if asked.detail:
        yield Content.styled(_bounded(asked.detail), "$text-muted")


def _diff_line(line: str) -> Content:
    text = _bounded(line)
    if line.startswith(("+++", "---", "@@", "[")):
        return Content.styled(text, "$text-muted")
    if line.startswith("+"):
        return Content.styled(text, "$text-success")
    if line.startswith("-"):
        return Content.styled(text, "$text-error")
    return Content(text)


def _bounded(line: str) -> str:
    cut = f" [{len(line) - _LINE_CHARS:,} more characters]" if len(line) > _LINE_CHARS else ""
    return visible(line[:_LINE_CHARS]) + cut


def question_hints(
    asked: "ApprovalRequested", *, typing: bool, editing: bool, focused: bool, short: bool = False
) -> tuple[Hint, ...]:
    """The keys that answer, as things are.

    Args:
        asked: The question.
        typing: Whether a reason or a rule is being written.
        editing: Whether it is a rule.
        focused: Whether letters answer.
        short: Whether little is seen of what would be done: how to see the rest comes first then.
    """
    if typing:
        return (Hint("enter", "allow" if editing else "say no", 0), Hint("esc", "back", 1, "back"))
    if not focused:
        return (Hint("f12", "answer", 0, "answer"),)
    always = (
        Hint("a", "session" if short else "from now on", 1, "always"),
        Hint("e", "edit the rule", 3, "edit"),
    )
    return (
        Hint("y", "once", 0, "once"),
        *(always if asked.pattern else ()),
        Hint("n", "no", 0, "refuse"),
        Hint("pgdn", "more", 0) if short else Hint("up/down", "scroll", 4),
        Hint("esc", "no, and stop", 2, "back"),
    )


# What a tool would do, below its question: as much of it as there is room for, the rest by scrolling.


class ApprovalDetail(GrownScroll):
    """Shows a diff, a command or arguments."""

    def __init__(self, *, id: str | None = None) -> None:
        """Create it empty.

        Args:
            id: Textual id.
        """
        super().__init__(id=id)
        # Joins the tree a moment after this has.
        self._text = ExactStatic(id="approval-detail", markup=False)
        self._asked: ApprovalRequested | None = None
        self._glyphs = UNICODE
        self._bare: bool | None = None

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, asked: "ApprovalRequested", glyphs: Glyphs) -> None:
        """Show what is asked about.

        Args:
            asked: The question.
            glyphs: Signs that the question is drawn with.
        """
        self._asked, self._glyphs, self._bare = asked, glyphs, None
        self._fit()

    def move(self, lines: int, *, pages: bool) -> None:
        """Scroll.

        Args:
            lines: How far down; up when negative.
            pages: Whether to count in what is seen at once.
        """
        self.scroll_relative(y=lines * (self.size.height if pages else 1), animate=False)

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Leave out the names of the file where there is little room, and the title has the name whole."""
        if self._asked is None:
            return
        whole = question_title(self._asked, self._glyphs).cell_length <= self.screen.size.width
        bare = whole and self.screen.has_class("-short")
        if bare is not self._bare:
            self._bare = bare
            self._text.update(question_detail(self._asked, bare=bare))


_RULE = "the rule to add"
_REASON = "why not? the model reads it; enter alone gives no reason"
_NO_FIT = "This rule does not fit the call, or can allow nothing. A rule is: TOOL PATTERN"


class ApprovalBox(Vertical, can_focus=True):
    """Shows one question at a time. Attributes down, :class:`Answered` and :class:`Stray` up."""

    HELP = "A tool asks before it changes something. y once, a from now on, e which rule, n no."
    BINDINGS = place_bindings("question")
    DEFAULT_CSS = """
    ApprovalBox { height: auto; width: 1fr; display: none; border-top: solid $border-blurred; }
    ApprovalBox:focus-within, ApprovalBox:focus { border-top: solid $border; }
    ApprovalBox.-asking { display: block; }
    ApprovalBox > #approval-title { height: auto; max-height: 2; width: 1fr; }
    ApprovalBox > #approval-scroll { height: auto; max-height: 35vh; scrollbar-size-vertical: 1; }
    ApprovalBox #approval-detail { height: auto; width: 1fr; }
    ApprovalBox > #approval-note { height: auto; max-height: 2; width: 1fr; color: $text-muted; }
    ApprovalBox > Input { height: 1; border: none; padding: 0 1; background: $panel; display: none; }
    ApprovalBox > Input:focus { border: none; background: $panel; background-tint: $foreground 0%; }
    ApprovalBox.-typing > Input { display: block; }
    """

    question: "reactive[ApprovalRequested | None]" = reactive(None)
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    class Answered(Message):
        """The user has decided."""

        def __init__(self, id: str, decision: "Decision") -> None:
            super().__init__()
            self.id, self.decision = id, decision

    class Stray(Message):
        """A letter of a user who was writing when the question came up: it belongs to the prompt."""

        def __init__(self, key: str, character: str | None) -> None:
            super().__init__()
            self.key, self.character = key, character

    def __init__(self, *, clock: Callable[[], float] = monotonic, id: str | None = None) -> None:
        """Create the box.

        Args:
            clock: Seconds that only go forward; keys are told apart by the time between them.
            id: Textual id.
        """
        super().__init__(id=id)
        self._clock = clock
        self._came = float("-inf")
        self._typed = float("-inf")
        self._has_keys = False
        self._detail: ApprovalDetail | None = None
        self._editing = False
        """Whether the line is for the rule, not for a reason."""
        self._lone = LoneLetter(self)

    def typed(self) -> None:
        self._typed = self._clock()

    @property
    def may_take_focus(self) -> bool:
        """Whether the user has not typed for a moment."""
        return self._clock() - self._typed >= QUIET_S

    def take_keys(self) -> None:
        """Take the focus from the prompt; for a moment letters still go there."""
        self._came = self._clock()
        self.screen.set_focus(self)  # at once: the line of the question before may vanish meanwhile

    def watch_question(self, before: "ApprovalRequested | None", asked: "ApprovalRequested | None") -> None:
        self.set_class(asked is not None, "-asking")
        if asked is None:
            self._close_line()
            return
        if self._detail is None:
            from tui_app.ui.widgets import WrittenLine

            self._detail = ApprovalDetail(id="approval-scroll")
            self.mount(
                Static(id="approval-title", markup=False),
                self._detail,
                Static(id="approval-note", markup=False),
                WrittenLine(id="approval-line", compact=True),
                HintRow((), id="approval-keys"),
            )
        self.query_one("#approval-title", Static).update(question_title(asked, self.glyphs))
        if before is not None and before.id == asked.id:
            return
        self._close_line()
        self._came = self._clock()
        self._detail.show(asked, self.glyphs)
        self.query_one("#approval-scroll").scroll_home(animate=False)
        self._explain()

    def _explain(self, said: str = "") -> None:
        asked = self.question
        if asked is None:
            return
        rule = f"a allows: {asked.pattern}" if asked.pattern else "no rule can allow it from now on"
        text = said or f"{one_line(asked.because, 80)} {self.glyphs.separator} {one_line(rule, 200)}"
        self.query_one("#approval-note", Static).update(Content(text))
        self.query_one("#approval-keys", HintRow).hints = question_hints(
            asked, typing=self.has_class("-typing"), editing=self._editing, focused=self._has_keys,
            short=self.screen.has_class("-short"),
        )  # fmt: skip

    def on_focus(self) -> None:
        self._has_keys = True
        self._explain()

    def on_blur(self) -> None:
        """Say how to come back; a letter that still waits was meant for where the keys are now."""
        if began := self._lone.take():
            self.post_message(self.Stray(began, began))
        self._has_keys = False
        self._explain()

    def on_key(self, event: events.Key) -> None:
        """Pass keys that were meant for the prompt on to it."""
        if event.key == "enter":
            self._lone.act()
        elif event.key == "backspace":
            self._lone.take()
        elif self.has_focus and event.is_printable:
            began = self._lone.take()
            if began:
                self._came = self._clock()  # more of the word is on its way
                self.post_message(self.Stray(began, began))
            # A key that would answer comes here only if it did not when it was pressed.
            bound = self.screen.active_bindings.get(event.key)
            if began or self._early or (bound is not None and bound.node is self):
                event.stop()
                event.prevent_default()
                self.post_message(self.Stray(event.key, event.character))

    @property
    def _early(self) -> bool:
        return self._clock() - self._came < QUIET_S

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters answer only where nothing else is written with them."""
        if action in {"once", "always", "edit", "refuse"}:
            return not (self._early or self._lone.waits or self.has_class("-typing"))
        return super().check_action(action, parameters)

    def action_answer(self) -> None:
        """Focus the question, which the user has seen."""
        self._came = float("-inf")
        self.focus()

    def action_once(self) -> None:
        self._lone.press(self._letter("approval.once"), lambda: self._answer("once"))

    def action_always(self) -> None:
        if self.question is not None and (rule := self.question.pattern):
            self._lone.press(self._letter("approval.always"), lambda: self._answer("always", pattern=rule))

    def action_edit(self) -> None:
        if self.question is not None and (rule := self.question.pattern):
            self._lone.press(self._letter("approval.edit"), lambda: self._open_line(rule, editing=True))

    def action_refuse(self) -> None:
        """Ask for the reason, at once: nothing is decided by it, and what comes next is the reason."""
        self._open_line("", editing=False)

    def _letter(self, binding: str) -> str:
        """What the key of an answer would write elsewhere; empty for one that writes nothing."""
        keys = self.screen.active_bindings.items()
        return next((key for key, each in keys if each.binding.id == binding and len(key) == 1), "")

    def action_scroll(self, lines: int, pages: int = 0) -> None:
        """Scroll what would be done, by lines or by as much as is seen of it."""
        self.query_one(ApprovalDetail).move(lines, pages=bool(pages))

    def on_resize(self) -> None:
        self._explain()

    async def action_back(self) -> None:
        """Leave the line; elsewhere do what Esc does in the chat."""
        self._lone.take()
        if self.has_class("-typing"):
            self._close_line()
            self.focus()
        else:
            await self.run_action("screen.cancel")

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        from tui_app.conversation.approvals import asked_action, session_rule

        event.stop()
        asked = self.question
        if not self._editing:
            self._answer("no", reason=event.value)
        elif asked is not None and session_rule(asked_action(asked), event.value) is not None:
            self._answer("always", pattern=event.value)
        else:
            self._explain(_NO_FIT)

    def _answer(
        self, answer: Literal["once", "always", "no"], *, pattern: str = "", reason: str = ""
    ) -> None:
        from tui_app.conversation.approvals import Decision

        if self.question is not None:
            decision = Decision(answer, pattern=pattern, reason=reason)
            self.post_message(self.Answered(self.question.id, decision))

    def _open_line(self, text: str, *, editing: bool) -> None:
        self._editing = editing
        line = self.query_one(Input)
        line.value, line.placeholder = text, _RULE if editing else _REASON
        self.add_class("-typing")
        self.screen.set_focus(line)  # at once: what comes next is typed there
        self._explain()

    def _close_line(self) -> None:
        self._lone.take()
        self.remove_class("-typing")
        self._explain()
