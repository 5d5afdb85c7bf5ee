"""Questions above the prompt: approvals, and the model's questions with choices or free text."""

from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_app.ui.approvals import ApprovalBox, AskBox
from tui_app.ui.keyboard.keys import Hint, place_bindings
from tui_app.ui.keyboard.type_ahead import TypeAhead, Typed
from tui_app.ui.widgets.hint_row import HintRow
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import clean, one_line

if TYPE_CHECKING:
    from tui_app.events import ApprovalRequested, QuestionAsked

_LEAST_ROWS, _SHARE = 2, 5
"""Visible choices: at least two, at most a fifth of the screen, around the marked one."""
_WORDS, _OR_WORDS = "your answer", "or an answer in words"


def choice_rows(choices: tuple[str, ...], marked: int, width: int, most: int) -> list[Content]:
    """Return the numbered choices, the marked one bold and with a sign.

    Args:
        choices: All choices.
        marked: Index of the marked one.
        width: Cells.
        most: Maximum number of rows, shown around the marked one.
    """
    first = max(0, min(marked - most // 2, len(choices) - most))
    rows = []
    for at, choice in list(enumerate(choices))[first : first + most]:
        text = one_line(clean(choice, keep_newlines=False), max(1, width - 4))
        sign = UNICODE.collapsed if at == marked else " "
        number = (f"{sign} {at + 1} ", "bold $text-accent" if at == marked else "$text-muted")
        rows.append(Content.assemble(number, (text, "bold" if at == marked else "")))
    return rows


class QuestionBox(AskBox):
    """Shows one question of the model at a time. Attributes down, :class:`AskBox.Replied` up."""

    HELP = "The model asks. A number or enter chooses, words and enter answer, esc gives no answer."
    BINDINGS = place_bindings("asked")

    question: "reactive[QuestionAsked | None]" = reactive(None, toggle_class="-asking")
    marked: reactive[int] = reactive(0, init=False)
    """Index of the choice that enter selects in an empty input."""

    def compose(self) -> ComposeResult:
        yield Static(id="asked-title", markup=False)
        yield Static(id="asked-choices", markup=False)
        yield self._line
        yield HintRow((), id="asked-keys")

    @property
    def keys_to(self) -> Widget:
        return self._line

    def watch_question(self, before: "QuestionAsked | None", asked: "QuestionAsked | None") -> None:
        if asked is not None and (before is None or before.id != asked.id):
            self._line.placeholder = _OR_WORDS if asked.choices else _WORDS
            self._came = self._clock()
            self.marked = 0
        self._explain()

    def _explain(self) -> None:
        asked, width = self.question, self.scrollable_content_region.width
        if asked is None:
            return
        title = Content.styled(clean(asked.question), "bold $text-warning")
        if asked.repeats:
            title += Content.styled(f"\n{clean(asked.repeats)}", "$text-muted")
        self.query_one("#asked-title", Static).update(title)
        most = min(len(asked.choices), max(_LEAST_ROWS, self.screen.size.height // _SHARE))
        rows = choice_rows(asked.choices, self.marked, width, most) if asked.choices else []
        choices = self.query_one("#asked-choices", Static)
        choices.update(Content("\n").join(rows))
        choices.display = bool(rows)
        if not self._line.has_focus:
            hints: tuple[Hint, ...] = (Hint("f12", "answer", 0, "answer"),)
        else:
            number = (Hint(f"1-{len(asked.choices)}", "choose", 1),) if asked.choices else ()
            send = "choose or send" if asked.choices else "send"
            hints = (*number, Hint("enter", send, 0), Hint("esc", "no answer", 0, "none"))
        self.query_one("#asked-keys", HintRow).hints = hints

    watch_marked = on_descendant_focus = on_descendant_blur = _explain

    def keeps(self, event: Typed) -> bool:
        """Return whether an event in the input is handled elsewhere: a number alone selects a choice."""
        if super().keeps(event):
            return True
        if isinstance(event, events.Key) and not event.is_printable:
            return (event.key == "enter" and self.lone.act()) or (
                event.key == "backspace" and bool(self.lone.take())
            )
        if begun := self.lone.take():
            # Text follows a number, so the number begins an answer in words.
            self._line.insert_text_at_cursor(begun)
        asked, letter = self.question, event.character if isinstance(event, events.Key) else None
        if asked is None or not letter or self._line.value or self._early:
            return False
        number = "123456789"[: len(asked.choices)].find(letter)
        if number >= 0:
            self.marked = number
            self.lone.press(letter, self._choose)
        return number >= 0

    def action_move(self, step: int) -> None:
        """Mark another choice."""
        if self.question is not None and (choices := self.question.choices):
            self.marked = (self.marked + step) % len(choices)

    def action_none(self) -> None:
        """Give no answer; if something is written, clear it first."""
        self.lone.take()
        if self._line.value:
            self._line.value = ""
        elif self.question is not None:
            self._reply("")

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        asked = self.question
        if event.value.strip():
            self._reply(event.value.strip())
        elif asked is not None and asked.choices and not self._early:
            self._choose()

    def _choose(self) -> None:
        if self.question is not None and self.question.choices:
            self._reply(self.question.choices[self.marked])

    def _reply(self, text: str) -> None:
        if self.question is not None:
            self._line.value = ""
            self.post_message(self.Replied(self.question.id, text))


class AskPlace(Vertical):
    """Contains the question boxes, of which at most one is shown."""

    type_ahead: TypeAhead | None = None

    def compose(self) -> ComposeResult:
        approval, asked = ApprovalBox(id="approval"), QuestionBox(id="asked")
        approval.type_ahead = asked.type_ahead = self.type_ahead
        yield approval
        yield asked

    @property
    def box(self) -> AskBox | None:
        """The box with an open question."""
        return next((box for box in self.query(AskBox) if box.question is not None), None)

    @property
    def has_keys(self) -> bool:
        """Whether one of the boxes has the focus."""
        focused = self.screen.focused
        return focused is not None and self in focused.ancestors

    def show(self, question: "ApprovalRequested | None", asked: "QuestionAsked | None") -> tuple[bool, str]:
        """Show the open approval or question, or nothing.

        Returns:
            Whether it is new, and the text written for a question that was closed unanswered.
        """
        approval, words = self.query_one(ApprovalBox), self.query_one(QuestionBox)
        before = {box.question.id: box for box in (approval, words) if box.question is not None}
        now = {each.id for each in (question, asked) if each is not None}
        written = "".join(box.take_written() for id, box in before.items() if id not in now)
        approval.question, words.question = question, asked
        return bool(now - {*before}), written
