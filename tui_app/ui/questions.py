"""What is asked above the prompt: by tools, and by the model with choices by number or for words."""

from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_app.ui.approvals import ApprovalBox, AskBox
from tui_app.ui.keys import Hint, place_bindings
from tui_app.ui.text import UNICODE, Glyphs, clean, one_line
from tui_app.ui.widgets import HintRow, WrittenLine

if TYPE_CHECKING:
    from tui_app.events import ApprovalRequested, QuestionAsked

Stray = AskBox.Stray
_LEAST_ROWS, _SHARE = 2, 5
"""Choices in sight: at most a fifth of the screen, those around the marked one."""
_WORDS, _OR_WORDS = "your answer", "or an answer in words"


def choice_rows(
    choices: tuple[str, ...], marked: int, width: int, most: int, glyphs: Glyphs = UNICODE
) -> list[Content]:
    """The choices with their numbers, the marked one bold and with a sign.

    Args:
        choices: All there are.
        marked: Index of the marked one.
        width: Cells.
        most: Rows there are; then those around the marked one.
        glyphs: The signs.
    """
    first = max(0, min(marked - most // 2, len(choices) - most))
    rows = []
    for at, choice in list(enumerate(choices))[first : first + most]:
        text = one_line(clean(choice, keep_newlines=False), max(1, width - 4))
        sign = glyphs.collapsed if at == marked else " "
        number = (f"{sign} {at + 1} ", "bold $text-accent" if at == marked else "$text-muted")
        rows.append(Content.assemble(number, (text, "bold" if at == marked else "")))
    return rows


class AnswerLine(WrittenLine):
    """The line for an answer in words; a number that stands alone in it chooses."""

    @on(events.Key)
    def _leave(self, event: events.Key) -> None:
        """Leave to the box what is no part of an answer in words."""
        box = self.parent
        if isinstance(box, QuestionBox) and box.keeps(event, empty=not self.value):
            event.stop()
            event.prevent_default()


class QuestionBox(AskBox):
    """Shows one question at a time. Attributes down, :class:`AskBox.Replied` and :class:`AskBox.Stray` up."""

    HELP = "The model asks. A number or enter chooses, words and enter answer, esc gives no answer."
    BINDINGS = place_bindings("asked")
    DEFAULT_CSS = """
    QuestionBox { height: auto; width: 1fr; margin: 0 2; padding: 0 2 0 1; }
    QuestionBox { display: none; background: $panel; }
    QuestionBox { border-left: inner $warning; border-top: inner $panel; border-bottom: inner $panel; }
    QuestionBox:focus-within {
        background: $surface; border-top: inner $surface; border-bottom: inner $surface;
    }
    QuestionBox:nocolor, QuestionBox:ansi { border-top: blank; border-bottom: blank; }
    QuestionBox.-asking { display: block; }
    QuestionBox > #asked-title { height: auto; max-height: 20vh; width: 1fr; overflow-y: auto; }
    QuestionBox > #asked-choices { height: auto; width: 1fr; }
    QuestionBox > Input { height: 1; border: none; padding: 0 1; margin-top: 1; background: $panel; }
    QuestionBox > Input:focus { border: none; background: $panel; background-tint: $foreground 0%; }
    """

    question: "reactive[QuestionAsked | None]" = reactive(None)
    glyphs: reactive[Glyphs] = reactive(UNICODE)
    marked: reactive[int] = reactive(0, init=False)
    """Index of the choice that enter takes on an empty line."""

    _line: AnswerLine | None = None

    @property
    def asks(self) -> bool:
        return self.question is not None

    @property
    def keys_to(self) -> Widget:
        return self if self._line is None else self._line

    def watch_question(self, before: "QuestionAsked | None", asked: "QuestionAsked | None") -> None:
        self.set_class(asked is not None, "-asking")
        self._lone.take()
        if asked is None:
            return
        if self._line is None:
            self._line = AnswerLine(id="asked-line", compact=True)
            self.mount(
                Static(id="asked-title", markup=False),
                Static(id="asked-choices", markup=False),
                self._line,
                HintRow((), id="asked-keys"),
            )
        if before is None or before.id != asked.id:
            self._line.value = ""
            self._line.placeholder = _OR_WORDS if asked.choices else _WORDS
            self._came = self._clock()
            self.marked = 0
        self._explain()

    def watch_marked(self) -> None:
        self._explain()

    def on_resize(self) -> None:
        super().on_resize()
        self._explain()

    def on_descendant_focus(self) -> None:
        self._explain()

    def on_descendant_blur(self) -> None:
        """Say how to come back; a number that still waits was meant for where the keys are now."""
        if began := self._lone.take():
            self.post_message(self.Stray(began, began))
        self._explain()

    def _explain(self) -> None:
        asked, width = self.question, self.scrollable_content_region.width
        if asked is None or self._line is None:
            return
        title = Content.styled(clean(asked.question), "bold $text-warning")
        if asked.repeats:
            title += Content.styled(f"\n{clean(asked.repeats)}", "$text-muted")
        self.query_one("#asked-title", Static).update(title)
        most = min(len(asked.choices), max(_LEAST_ROWS, self.screen.size.height // _SHARE))
        rows = choice_rows(asked.choices, self.marked, width, most, self.glyphs) if asked.choices else []
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

    def keeps(self, event: events.Key, *, empty: bool) -> bool:
        """Whether a key of the line is none of its words.

        Args:
            event: The key.
            empty: Whether nothing is written yet.
        """
        if event.key == "enter":
            return self._lone.act()
        if not event.is_printable or self._line is None:
            if event.key == "backspace":
                return bool(self._lone.take())
            return False
        began = self._lone.take()
        if self._early:
            for key in filter(None, (began, event.character)):
                self.post_message(self.Stray(event.key if key == event.character else key, key))
            return True
        if began:
            # More follows a number: it is the beginning of an answer in words.
            self._line.insert_text_at_cursor(began)
            return False
        asked = self.question
        signs = "123456789"[: len(asked.choices)] if asked is not None and empty else ""
        number = signs.find(event.character) if event.character else -1
        if number < 0:
            return False
        self.marked = number
        self._lone.press(event.character or "", self._choose)
        return True

    def action_move(self, step: int) -> None:
        """Mark another choice."""
        if self.question is not None and (choices := self.question.choices):
            self.marked = (self.marked + step) % len(choices)

    def action_none(self) -> None:
        """Give no answer; first what is written goes."""
        self._lone.take()
        if self._line is not None and self._line.value:
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
            self.post_message(self.Replied(self.question.id, text))


class AskPlace(Vertical):
    """Holds the boxes, of which one at most is shown."""

    DEFAULT_CSS = """
    AskPlace { height: auto; width: 1fr; }
    """
    glyphs: reactive[Glyphs] = reactive(UNICODE, init=False)

    def compose(self) -> ComposeResult:
        approval, asked = ApprovalBox(id="approval"), QuestionBox(id="asked")
        approval.glyphs = asked.glyphs = self.glyphs
        yield approval
        yield asked

    @property
    def box(self) -> AskBox | None:
        """What asks something."""
        return next((box for box in self.query(AskBox) if box.asks), None)

    @property
    def has_keys(self) -> bool:
        """Whether the focus is in one of the boxes."""
        return any(box.has_focus or box.has_focus_within for box in self.query(AskBox))

    def show(self, question: "ApprovalRequested | None", asked: "QuestionAsked | None") -> bool:
        """Show what is asked, or nothing; whether it is something new."""
        approval, words = self.query_one(ApprovalBox), self.query_one(QuestionBox)
        before = {box.question.id for box in (approval, words) if box.question is not None}
        approval.question, words.question = question, asked
        return any(each is not None and each.id not in before for each in (question, asked))

    def typed(self) -> None:
        """Note that the user writes in the prompt."""
        for box in self.query(AskBox):
            box.typed()
