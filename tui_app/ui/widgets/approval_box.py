"""A tool's question, above the prompt: what it would do, and four answers.

It comes up while a person may be writing. So it takes the focus only from an empty prompt in which nobody
has typed for a moment, and for another moment letters still go to the prompt. All other letters always do.
"""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Input, Static

from tui_app.ui.approval_text import question_detail, question_title
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.widgets.hints import HintRow
from tui_app.ui.widgets.stray_keys import QUIET_S

# What is asked and answered is loaded behind the first frame, which only holds the empty box.
if TYPE_CHECKING:
    from tui_app.context.events import ApprovalRequested
    from tui_app.conversation.approvals import Decision

_NO_FIT = "This rule does not fit the call, or can allow nothing. A rule is: TOOL PATTERN"


class _Shown(VerticalScroll, can_focus=False):
    """What would be done, as high as it is, up to its greatest height."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text, within the greatest height."""
        # Textual leaves a share of the screen out while it asks for the height of the box around this.
        height, most = super().get_content_height(container, viewport, width), self.styles.max_height
        return height if most is None else min(height, int(most.resolve(container, viewport)))


class ApprovalBox(Vertical, can_focus=True):
    """Shows one question at a time. Attributes down, :class:`Answered` and :class:`Stray` up."""

    HELP = "A tool asks before it changes something. y once, a from now on, e which rule, n no."
    # With priority, so that each letter acts before the next one is looked at: after n they are the reason.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "y", "once", "Allow once", show=False, id="approval.once", priority=True,
            tooltip="Allow this very call.",
        ),
        Binding(
            "a", "always", "Allow from now on", show=False, id="approval.always", priority=True,
            tooltip="Allow what the rule in the box says, until the session is closed.",
        ),
        Binding(
            "e", "edit", "Edit the rule", show=False, id="approval.edit", priority=True,
            tooltip="Change the rule, then allow what it says.",
        ),
        Binding(
            "n", "refuse", "No", show=False, id="approval.no", priority=True,
            tooltip="Say no, and why if you want.",
        ),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="approval.up", tooltip="Show what is above."),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="approval.down", tooltip="Show more."),
        Binding(
            "escape", "back", "Back", show=False, id="approval.back", priority=True,
            tooltip="Leave the line for a reason or a rule; then stop the turn, which is a no.",
        ),
    ]  # fmt: skip
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
        """The person has decided."""

        def __init__(self, id: str, decision: "Decision") -> None:
            super().__init__()
            self.id, self.decision = id, decision

    class Stray(Message):
        """A letter of somebody who was writing when the question came up: it belongs to the prompt."""

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
        self._detail: Static | None = None
        self._editing = False
        """Whether the line is for the rule, not for a reason."""

    def _build(self) -> Static:
        """Question, what would be done, why it is asked, a line to type in, keys: not before one is asked.

        Returns:
            The widget of what would be done; it joins the tree a moment after the others.
        """
        from tui_app.ui.widgets.written import WrittenLine

        detail = Static(id="approval-detail", markup=False)
        self.mount(
            Static(id="approval-title", markup=False),
            _Shown(detail, id="approval-scroll"),
            Static(id="approval-note", markup=False),
            WrittenLine(id="approval-line", compact=True),
            HintRow((), id="approval-keys"),
        )
        return detail

    def typed(self) -> None:
        """Note that the person is writing in the prompt."""
        self._typed = self._clock()

    @property
    def may_take_focus(self) -> bool:
        """Whether nobody has typed for a moment."""
        return self._clock() - self._typed >= QUIET_S

    def take_keys(self) -> None:
        """Take the focus from the prompt; for a moment letters still go there."""
        self._came = self._clock()
        self.focus()

    def watch_question(self, before: "ApprovalRequested | None", asked: "ApprovalRequested | None") -> None:
        """Show a question, or go away."""
        self.set_class(asked is not None, "-asking")
        if asked is None:
            self._close_line()
            return
        if self._detail is None:
            self._detail = self._build()
        self.query_one("#approval-title", Static).update(question_title(asked, self.glyphs))
        if before is not None and before.id == asked.id:
            return
        self._close_line()
        self._came = self._clock()
        self._detail.update(question_detail(asked))
        self.query_one("#approval-scroll").scroll_home(animate=False)
        self._explain()

    def _explain(self, said: str = "") -> None:
        asked = self.question
        if asked is None:
            return
        rule = f"a allows: {asked.pattern}" if asked.pattern else "no rule can allow it from now on"
        text = said or f"{one_line(asked.because, 80)} {self.glyphs.separator} {one_line(rule, 200)}"
        self.query_one("#approval-note", Static).update(Content(text))
        self.query_one("#approval-keys", HintRow).hints = self._hints(asked)

    def _hints(self, asked: "ApprovalRequested") -> tuple[Hint, ...]:
        if self.has_class("-typing"):
            return (Hint("enter", "allow" if self._editing else "say no", 0), Hint("esc", "back", 1, "back"))
        if not self._has_keys:
            return (Hint("f12", "answer", 0, "answer"),)
        always = (Hint("a", "from now on", 1, "always"), Hint("e", "edit the rule", 3, "edit"))
        return (
            Hint("y", "once", 0, "once"),
            *(always if asked.pattern else ()),
            Hint("n", "no", 0, "refuse"),
            Hint("up/down", "scroll", 4),
            Hint("esc", "no, and stop", 2, "back"),
        )

    def on_focus(self) -> None:
        """Name the keys."""
        self._has_keys = True
        self._explain()

    def on_blur(self) -> None:
        """Say how to come back."""
        self._has_keys = False
        self._explain()

    def on_key(self, event: events.Key) -> None:
        """Give the prompt what was meant for it."""
        if self.has_focus and event.is_printable and self._early:
            event.stop()
            event.prevent_default()
            self.post_message(self.Stray(event.key, event.character))

    @property
    def _early(self) -> bool:
        return self._clock() - self._came < QUIET_S

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters answer only where nothing else is written with them."""
        if action in {"once", "always", "edit", "refuse"}:
            return not self._early and not self.has_class("-typing")
        return super().check_action(action, parameters)

    def action_answer(self) -> None:
        """Go to the question; who asks for that has seen it."""
        self._came = float("-inf")
        self.focus()

    def action_once(self) -> None:
        """Allow this call."""
        self._answer("once")

    def action_always(self) -> None:
        """Allow what the rule says."""
        if self.question is not None and self.question.pattern:
            self._answer("always", pattern=self.question.pattern)

    def action_edit(self) -> None:
        """Ask for another rule."""
        if self.question is not None and self.question.pattern:
            self._open_line(self.question.pattern, "the rule to add", editing=True)

    def action_refuse(self) -> None:
        """Ask for the reason."""
        self._open_line("", "why not? the model reads it; enter alone gives no reason", editing=False)

    def action_scroll(self, lines: int) -> None:
        """Scroll what would be done."""
        self.query_one("#approval-scroll").scroll_relative(y=lines, animate=False)

    async def action_back(self) -> None:
        """Leave the line; else it is the chat's own Esc."""
        if self.has_class("-typing"):
            self._close_line()
            self.focus()
        else:
            await self.run_action("screen.cancel")

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._editing:
            self._answer("no", reason=event.value)
        elif self._fits(event.value):
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

    def _fits(self, rule: str) -> bool:
        """Whether a rule would allow what is asked."""
        from tui_app.conversation.approvals import asked_action, session_rule

        return self.question is not None and session_rule(asked_action(self.question), rule) is not None

    def _open_line(self, text: str, placeholder: str, *, editing: bool) -> None:
        self._editing = editing
        line = self.query_one(Input)
        line.value, line.placeholder = text, placeholder
        self.add_class("-typing")
        self.screen.set_focus(line)  # at once: what comes next is typed there
        self._explain()

    def _close_line(self) -> None:
        self.remove_class("-typing")
        self._explain()
