"""The approval box above the prompt: what a tool would do, and the possible answers.

It may appear while the user is typing. So it takes the focus only from an empty prompt in which nothing has
been typed for a moment, and for another moment letters still go to the prompt. Letters that are not answers
always do, together with the letter typed before them: the first letter of a word is not a "yes".
"""

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content, Span
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_app.records import frozen
from tui_app.text import visible, written_out
from tui_app.tool_specs import RUN_COMMAND
from tui_app.ui.colours.code_colours import CODE_TONES, code_spans, language_of
from tui_app.ui.colours.palette import legible
from tui_app.ui.keyboard.keys import Hint, place_bindings
from tui_app.ui.keyboard.lone_letter import LoneLetter
from tui_app.ui.keyboard.stray_keys import QUIET_S, in_sight
from tui_app.ui.keyboard.type_ahead import TypeAhead, Typed, typed_key
from tui_app.ui.question_page import (
    KINDS,
    MOST_RULE,
    SPACES,
    QuestionRow,
    diff_rows,
    question_rows,
    question_title,
    without_blanks,
)
from tui_app.ui.widgets.hint_row import SEPARATOR, HintRow, fit_hints
from tui_app.ui.widgets.long_text import LongText, Wrapped, wrapped
from tui_app.ui.widgets.scroll_bars import EdgedPanel, WrittenLine
from tui_app.ui.words.text import one_line

# What is asked and answered is imported after the first frame, which only has the empty box.
if TYPE_CHECKING:
    from tui_app.conversation.approvals import Decision
    from tui_app.events import ApprovalRequested, QuestionAsked


@frozen
class QuestionPage(Wrapped):
    """The rows of a question at one width: a few numbers per row, however many there are."""

    begins: "array[int]" = field(default_factory=lambda: array("L"))
    """Offset in the text at which each row begins."""
    rows: Sequence[QuestionRow] = ()
    """The rows, without their texts."""
    marks: "array[int]" = field(default_factory=lambda: array("L"))
    """Begins and ends of marks that are not the question's own text: escaped characters and counts."""
    gutter: int = 0

    @property
    def unchanged(self) -> int:
        """Number of lines at the end that only show context after the last change."""
        row = len(self.begins)
        while row and self.rows[row - 1].number and self.rows[row - 1].kind == "plain":
            row -= 1
        # A file without changes is read as a whole.
        if not row or row == len(self.begins):
            return 0
        return len(self.starts) - bisect_left(self.starts, self.begins[row])


def laid_out(rows: Iterable[QuestionRow], width: int) -> QuestionPage:
    """Wrap rows to a width, with a gutter for numbers and signs."""
    texts, kept = list[str](), list[QuestionRow]()
    begins, marks = array("L"), array("L")
    at = 0
    for row in rows:
        text, places = written_out(row.text)
        if "  " * 20 in text:
            text, places = _spaces_counted(text, places)
        begins.append(at)
        kept.append(row._replace(text=""))
        places = ((0, row.label), *places) if row.label else places
        marks.extend(at + each for place in places for each in place)
        texts.append(text)
        at += len(text) + 1
    signed, top = any(row.sign for row in kept), max((row.number for row in kept), default=0)
    gutter = (len(str(top)) + 1 if top and width >= _NUMBERED else 0) + (2 if signed else 0)
    lines = wrapped("\n".join(texts), max(1, width - gutter))
    return QuestionPage(lines.text, lines.starts, lines.stops, begins, kept, marks, gutter)


def _spaces_counted(text: str, places: Sequence[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Replace long runs of spaces by their count, so that all words stay on the screen."""
    shown, found, at, size = [], [], 0, 0
    spans = [(*each, text[slice(*each)]) for each in places]
    spans += [(*each.span(), f"[{len(each.group()):,} spaces]") for each in SPACES.finditer(text)]
    for start, stop, instead in sorted(spans):
        shown += [text[at:start], instead]
        size += start - at
        found.append((size, size + len(instead)))
        size, at = size + len(instead), stop
    return "".join((*shown, text[at:])), tuple(found)


def diff_page(diff: str, width: int) -> QuestionPage:
    """Return the rows of a diff as a question about an edit shows them."""
    return laid_out(without_blanks(diff_rows(diff.split("\n"))), width)


def page_colours(page: QuestionPage, path: str) -> Mapping[int, Sequence[Span]]:
    """Return the syntax highlighting for each row of a diff, as spans of the whole text; slow, for a thread.

    Args:
        page: The rows.
        path: The edited file.
    """
    found: dict[int, Sequence[Span]] = {}
    ends = [*(begin - 1 for begin in page.begins[1:]), len(page.text)]
    for numbered, group in groupby(range(len(page.begins)), lambda row: page.rows[row].number > 0):
        rows = list(group) if numbered else []
        # The lines before and after the change are highlighted as one text each.
        for left_out in ("added", "removed") if rows else ():
            side = [row for row in rows if page.rows[row].kind != left_out]
            lines = [page.text[page.begins[row] : ends[row]] for row in side]
            for row, spans in zip(side, code_spans(language_of(path), lines), strict=True):
                at = page.begins[row]
                found[row] = [Span(at + start, at + stop, kind) for start, stop, kind in spans]
    return found


_NUMBERED = 60
"""Cells from which lines have numbers."""


_SIGNS = ("mark", "number", "sign-added", "sign-removed")
"""Styles of everything that is not the question's own text."""


class ApprovalDetail(LongText, can_focus=False):
    """Shows a diff, a command or arguments of any length; only visible rows are painted."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"approval--{kind}" for kind in (*KINDS, *_SIGNS, *(f"code-{each}" for each in CODE_TONES))
    }

    _asked: "ApprovalRequested | None" = None
    path = ""
    """The file whose lines are shown; empty if there is none."""
    _named = True
    _end_seen = False
    _colours: Mapping[int, Sequence[Span]] = MappingProxyType({})

    def ask(self, asked: "ApprovalRequested", *, named: bool) -> None:
        """Show what needs approval; ``named`` is whether the title contains its whole name."""
        if asked is not self._asked or named is not self._named:
            self._asked, self._named, self._end_seen = asked, named, False
            self.path = asked.subject if asked.kind == "file" else ""
            self.show(asked.subject + asked.detail)

    @property
    def below(self) -> int:
        """Number of rows below the visible ones."""
        return max(0, self.line_count - self.scroll_offset.y - self.size.height)

    @property
    def end_seen(self) -> bool:
        """Whether the last row, or the last changed row of a diff, has been visible."""
        lines = self._lines
        rest = lines.unchanged if isinstance(lines, QuestionPage) else 0
        is_seen = self.line_count > 0 and self.size.height > 0 and self.below <= rest
        self._end_seen = self._end_seen or is_seen
        return self._end_seen

    def _broken(self, width: int) -> Wrapped:
        return laid_out(question_rows(self._asked, named=self._named) if self._asked else (), width)

    def _put(self, lines: Wrapped, width: int, top: int) -> None:
        self._colours = {}
        super()._put(lines, width, top)
        if self.path and isinstance(lines, QuestionPage):
            self._colour(lines, self.path)

    @work(group="colour", exclusive=True)
    async def _colour(self, page: QuestionPage, path: str) -> None:
        colours = await asyncio.to_thread(page_colours, page, path)
        if self._lines is page and colours:
            self._colours = colours
            self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows, up to the maximum height."""
        # While Textual computes the height of the box around this, it leaves out part of the screen.
        most, rows = self.styles.max_height, self.line_count
        return rows if most is None else min(rows, int(most.resolve(container, viewport)))

    def _strip(self, number: int) -> Strip:
        page = self._lines
        if not isinstance(page, QuestionPage):
            return super()._strip(number)
        start, stop = page.starts[number], page.stops[number]
        row = bisect_right(page.begins, start) - 1
        shown, first = page.rows[row], start == page.begins[row]
        kind = self.get_component_rich_style(f"approval--{shown.kind}")
        faint = kind + self.get_component_rich_style("approval--number", partial=True)
        digits, sign = str(shown.number) if first and shown.number else "", faint
        if shown.kind in ("added", "removed"):
            sign = kind + self.get_component_rich_style(f"approval--sign-{shown.kind}", partial=True)
        gutter = [Segment(f"{digits:>{page.gutter - 3}} ", faint)] if page.gutter > 2 else []
        if page.gutter and not shown.label:
            gutter.append(Segment(f"{shown.sign if first else '':<2}", sign))
        width = self.scrollable_content_region.width
        text = self._selectable(list(self._marked(page, row, start, stop, kind)), number)
        return Strip.join([Strip(gutter), text]).extend_cell_length(width, kind)

    def _marked(self, page: QuestionPage, row: int, start: int, stop: int, style: Style) -> Iterable[Segment]:
        text = Text(page.text[start:stop])
        spans = [(begin, end, f"code-{kind}") for begin, end, kind in self._colours.get(row, ())]
        at = bisect_right(page.marks, start) & ~1
        while at < len(page.marks) and page.marks[at] < stop:
            spans.append((page.marks[at], page.marks[at + 1], "mark"))
            at += 2
        for begin, end, name in spans:
            over = self.get_component_rich_style(f"approval--{name}", partial=True)
            text.stylize(legible(style + over), max(begin, start) - start, max(end, start) - start)
        return Segment.apply_style(text.render(self.app.console), style)


def question_hints(
    asked: "ApprovalRequested", *, typing: bool, editing: bool, focused: bool, below: bool, width: int
) -> tuple[Hint, ...]:
    """Return the keys that answer in the current state.

    Args:
        asked: The question.
        typing: Whether a reason or a rule is being written.
        editing: Whether it is a rule.
        focused: Whether letters answer.
        below: Whether there are rows the user has not seen yet: nothing can be allowed before.
        width: Available cells.
    """
    if typing:
        return (Hint("enter", "allow" if editing else "say no", 0), Hint("esc", "back", 1, "back"))
    if not focused:
        return (Hint("f12", "answer", 0, "answer"),)
    stop = Hint("esc", "stop", 3, "back")
    if below:
        read_on = Hint("y", "read on", 0, "decide('once')")
        return (read_on, Hint("n", "no …", 1, "refuse"), Hint("end", "to the end", 2, "ends(1)"), stop)
    exact, wide = (rule_text(asked, rule) for rule in (asked.pattern, asked.prefix))
    exactly = " exactly" if wide else ""
    whole = f'always{exactly} "{exact}"' if cell_len(exact) <= MOST_RULE else "always exactly this"
    hints: tuple[Hint, ...] = ()
    for no, change, always in (
        ("no, because …", "change rule", whole), ("no …", "rule", whole), ("no …", "rule", "always"),
    ):  # fmt: skip
        every = (
            Hint("y", "yes", 0, "decide('once')"),
            Hint("a", asked.pattern and always, 2, "decide('always')"),
            Hint("w", asked.prefix and f'always any "{wide}"', 4, "decide('wider')"),
            Hint("n", no, 1, "refuse"),
            Hint("e", asked.pattern and change, 5, "decide('edit')"),
            Hint("o", f"open #{asked.origin_seq}" if asked.origin_seq else "", 2, "decide('origin')"),
            stop,
        )
        hints = tuple(hint for hint in every if hint.text)
        if cell_len(SEPARATOR.join(map(str, hints))) <= width:
            break
    return hints


def rule_text(asked: "ApprovalRequested", rule: str) -> str:
    """Return a rule as shown among the keys: for a command, the tool name is left out."""
    return visible(
        rule.removeprefix(f"{asked.tool} ").removeprefix("= ") if asked.kind == "command" else rule
    )


_RULE = "the rule to add"
_NO_FIT = f"That rule does not allow this call. A rule is TOOL PATTERN, such as: {RUN_COMMAND.name} git log …"


class AskLine(WrittenLine):
    """The text input of a question box."""

    @on(events.Key)
    @on(events.Paste)
    def _leave(self, event: Typed) -> None:
        if isinstance(self.parent, AskBox) and self.parent.keeps(event):
            event.stop()
            event.prevent_default()


class AskBox(EdgedPanel, Vertical):
    """A box that may appear while the user is typing: for a moment keys still go to the prompt.

    Args:
        clock: Monotonic seconds, to measure the time between keys.
        id: Textual id.
    """

    @dataclass
    class Replied(Message):
        """Posted when the user answers in words; an empty text is no answer."""

        id: str
        text: str

    def __init__(self, *, clock: Callable[[], float] = monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self.question: ApprovalRequested | QuestionAsked | None
        self._came = float("-inf")
        self._hidden = False
        """Whether part of the box was hidden at its last change of size."""
        self.lone = LoneLetter(self)
        self._line = AskLine(compact=True)
        self.type_ahead: TypeAhead | None = None

    def strays(self, event: Typed) -> tuple[Typed, ...]:
        """Return the events that belong to the prompt, checked before any widget gets them.

        In a widget's message queue they would be overtaken by keys that act at once, and by what is typed
        after the prompt has the focus again.
        """
        is_text = isinstance(event, events.Paste) or event.is_printable
        return (event,) if self._early and is_text and self.screen.focused is self.keys_to else ()

    def take_written(self) -> str:
        """Return and clear the text of a question that was closed before it was answered."""
        written = self.written + self.lone.take()
        self._line.value = ""
        return written

    @property
    def written(self) -> str:
        """The text in the input."""
        return self._line.value

    def keeps(self, event: Typed) -> bool:
        """Return whether an event in the input is handled elsewhere."""
        return self.type_ahead is not None and self.type_ahead.hold(event)

    def take_keys(self) -> None:
        """Take the focus from the prompt; for a moment letters still go there."""
        self._came = self._clock()
        self.screen.set_focus(self.keys_to)  # at once: the previous question's input may vanish

    def action_answer(self) -> None:
        """Focus the question on the user's request."""
        self._came = float("-inf")
        self.keys_to.focus()

    @property
    def keys_to(self) -> Widget:
        """The widget that has the focus while the question is answered."""
        return self

    @property
    def _early(self) -> bool:
        """Whether the user cannot have read it yet: it has just appeared, or part of it is hidden."""
        return self._clock() - self._came < QUIET_S or not in_sight(self)

    def on_resize(self) -> None:
        """Treat a box that becomes completely visible as new."""
        was_hidden, self._hidden = self._hidden, not in_sight(self)
        if was_hidden and not self._hidden:
            self._came = self._clock()
        self._explain()

    def _explain(self) -> None:
        """Update the question for the available space."""


class ApprovalBox(AskBox, can_focus=True):
    """Shows one approval at a time. Attributes down, :class:`Answered` up."""

    HELP = "A tool asks before it changes something. y yes, a always, w always with more, e which rule, n no."
    BINDINGS = place_bindings("question")

    question: "reactive[ApprovalRequested | None]" = reactive(None, toggle_class="-asking")

    @dataclass
    class OriginWanted(Message):
        """Posted to show the text with a log number."""

        seq: int

    @dataclass
    class Answered(Message):
        """Posted when the user decides."""

        id: str
        decision: "Decision"

    def __init__(self, *, clock: Callable[[], float] = monotonic, id: str | None = None) -> None:
        super().__init__(clock=clock, id=id)
        self._detail = ApprovalDetail(id="approval-detail")
        self._said = ""
        """What was wrong with the rule entered."""
        self._wide_shown = False
        """Whether the wider rule is shown completely: only then does a key add it."""
        self._editing = False
        """Whether the input is for the rule rather than for a reason."""

    def compose(self) -> ComposeResult:
        yield Static(id="approval-title", markup=False)
        yield self._detail
        yield Static(id="approval-note", markup=False)
        yield self._line
        yield HintRow((), id="approval-keys")

    def on_mount(self) -> None:
        self.watch(self._detail, "scroll_y", self._count, init=False)

    def watch_question(self, before: "ApprovalRequested | None", asked: "ApprovalRequested | None") -> None:
        if asked is None or before is None or before.id != asked.id:
            self._close_line()
            self._came = self._clock()
        self._explain()

    def _explain(self) -> None:
        asked, detail, notice = self.question, self._detail, self._said
        if asked is None:
            return
        width = self.scrollable_content_region.width
        title, whole = question_title(asked, width, detail.below)
        self.query_one("#approval-title", Static).update(title)
        detail.ask(asked, named=whole)
        keys, focused = self.query_one("#approval-keys", HintRow), self.screen.focused is self
        keys.hints = question_hints(
            asked, typing=self.has_class("-typing"), editing=self._editing, below=not detail.end_seen,
            focused=focused, width=width,
        )  # fmt: skip
        wide = f'always any "{rule_text(asked, asked.prefix)}"'
        in_keys = any(hint.text == wide for hint in fit_hints(keys.hints, width))
        # If no rule is offered, the reason is shown.
        because = "" if asked.pattern or asked.origin else one_line(asked.because, 200)
        facts: tuple[str, ...] = (notice or because,)
        if asked.prefix and focused and not in_keys and detail.end_seen and not notice:
            facts = (*facts, f"w {wide}")
        note = self.query_one("#approval-note", Static)
        note.update(Content("\n").join(map(Content, filter(None, facts))))
        note.display = any(facts)
        self._wide_shown = in_keys or (note.display and len(wide) < width)

    @on(LongText.Laid)
    def _count(self) -> None:
        """Update the number of rows below, after they are laid out."""
        self._detail.refresh(layout=True)
        self.call_after_refresh(self._explain)

    on_focus = on_blur = _explain

    def strays(self, event: Typed) -> tuple[Typed, ...]:
        if self.screen.focused is not self:
            return ()
        if isinstance(event, events.Key) and not event.is_printable:
            if event.key == "enter":
                self.lone.act()
            elif event.key == "backspace":
                self.lone.take()
            return ()
        if begun := self.lone.take():
            self._came = self._clock()  # the rest of the word will follow
            return typed_key(begun, begun), event
        acts = isinstance(event, events.Key) and event.key in self.screen.active_bindings
        return () if acts else (event,)

    @property
    def written(self) -> str:
        return "" if self._editing else super().written

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the letters that answer only while they are not part of typed text."""
        asked = self.question
        if action not in ("decide", "refuse") or asked is None:
            return super().check_action(action, parameters)
        offers = {"origin": asked.origin_seq, "wider": asked.prefix and self._wide_shown}
        writes = self._early or self.lone.waits or self.has_class("-typing")
        return not writes and all(offers.get(str(each), True) for each in parameters)

    def action_decide(self, key: str) -> None:
        """Act on a letter once no other letter follows it; scroll on while part of the question is unseen."""
        asked = self.question
        if asked is None or (key in ("always", "edit") and not asked.pattern):
            return

        def answer() -> None:
            if key != "origin" and not self._detail.end_seen:
                self._detail.action_scroll_pages(1)
            elif not in_sight(self):
                return
            elif key == "origin":
                self.post_message(self.OriginWanted(asked.origin_seq))
            elif key == "edit":
                self._open_line(asked.pattern, editing=True)
            elif key == "once":
                self._answer("once")
            else:
                self._answer("always", pattern=asked.pattern if key == "always" else asked.prefix)

        keys = self.screen.active_bindings.items()
        binding = f"approval.{key}"
        letter = next((each for each, active in keys if active.binding.id == binding and len(each) == 1), "")
        self.lone.press(letter, answer)

    def action_refuse(self) -> None:
        """Open the input for the reason at once: it decides nothing, and the reason is typed next."""
        self._open_line("", editing=False)

    def action_scroll(self, lines: int, pages: int = 0) -> None:
        """Scroll the details by lines or by pages."""
        scroll = self._detail.action_scroll_pages if pages else self._detail.action_scroll_lines
        scroll(lines)

    def action_ends(self, end: int) -> None:
        """Scroll to the first or the last row."""
        self._detail.action_scroll_ends(end)

    async def action_back(self) -> None:
        """Leave the input; outside of it do what esc does in the chat."""
        self.lone.take()
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
        elif not in_sight(self):
            return
        elif asked is not None and session_rule(asked_action(asked), event.value) is not None:
            self._answer("always", pattern=event.value)
        else:
            self._said = _NO_FIT
            self._explain()

    def _answer(
        self, answer: Literal["once", "always", "no"], *, pattern: str = "", reason: str = ""
    ) -> None:
        from tui_app.conversation.approvals import Decision

        if self.question is not None:
            self._line.value = ""
            decision = Decision(answer, pattern=pattern, reason=reason)
            self.post_message(self.Answered(self.question.id, decision))

    def _open_line(self, text: str, *, editing: bool) -> None:
        self._editing = editing
        self._line.value, self._line.placeholder = text, _RULE if editing else "Tell the model why (optional)"
        self.add_class("-typing")
        self.screen.set_focus(self._line)  # immediately, because what is typed next belongs there
        self._explain()

    def _close_line(self) -> None:
        self.lone.take()
        self._said, self._editing, self._line.value = "", False, ""
        self.remove_class("-typing")
        self._explain()
