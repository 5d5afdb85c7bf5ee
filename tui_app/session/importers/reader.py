"""What the readers of foreign files share: the books, the clock, and the answer being put together."""

from collections.abc import Iterable
from typing import Any

from tui_app.session.importers import messages
from tui_app.session.importers.answer import Answer
from tui_app.session.importers.content import ContentReader, joined
from tui_app.session.importers.fields import given_title, seconds, title_of
from tui_app.session.importers.result import Imported
from tui_app.session.importers.source import Source, shown
from tui_app.session.importers.timeline import Timeline, ToolOutcome

_UNUSED = "nothing in it could be used"


class Reader:
    """Base of the readers: one reads one file into a timeline."""

    format: str = ""
    """Name of the format."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.out = Timeline()
        self.time = source.mtime
        """Of what is being read, in seconds since the epoch."""
        self.title = self.cwd = self.model = ""
        self.notes: list[str] = []
        self._answer: Answer | None = None

    def at(self, *values: Any) -> None:
        """Set the clock to the first of these that is a time."""
        for value in values:
            if (moment := seconds(value, -1.0)) >= 0:
                self.time = moment
                return

    def content(self, line: int) -> ContentReader:
        """Reads the blocks of a message; what it cannot use is reported for the line."""
        return ContentReader(lambda reason: self.out.skip(line, reason))

    def text(self, value: Any, line: int) -> str:
        """The blocks of a message as text."""
        return messages.plain_text(self.content(line).read(value))

    def answer(self, line: int) -> Answer:
        """The answer that the model is giving; a new one when it is not giving any."""
        if self._answer is None:
            self._answer = Answer(line, self.time, self.model)
        self._answer.lines.add(line)
        return self._answer

    def end_answer(self) -> bool:
        """The answer is whole: it becomes an event. Return whether there was one."""
        answer, self._answer = self._answer, None
        if answer is None:
            return False
        if not answer.parts:
            for line in sorted(answer.lines):
                self.out.leave(line, "answers without any content were left out")
            return False
        if self.out.response(answer.message(), answer.time, answer.line, cost=answer.cost):
            self.out.places |= answer.lines
            self.model = answer.model or self.model
            return True
        return False

    def say(self, content: Any, line: int) -> None:
        """The person said something."""
        self.end_answer()
        self.out.user(self.content(line).read(content), self.time, line)

    def result(self, file_id: str, content: Any, outcome: ToolOutcome, line: int) -> None:
        """A tool answered the call that has this id in the file."""
        self.end_answer()
        call = self.out.calls.finish(file_id)
        if call is None:
            self.out.skip(line, f"{self.out.calls.why_not(file_id)}: {shown(file_id)}")
            return
        self.out.result(call, joined(self.content(line).read(content)), outcome, self.time, line)

    def finish(self, numbers: Iterable[int]) -> Imported:
        """Close the books.

        Args:
            numbers: Every line, or place in a list, that was read: one that left no trace is reported.
        """
        self.end_answer()
        for number in numbers:
            if not self.out.knows(number):
                self.out.skip(number, _UNUSED)
        title = given_title(self.title) or title_of(self.out.events)
        return self.out.finish(
            format=self.format, title=title, cwd=self.cwd, model=self.model, notes=self.notes
        )


class LineReader(Reader):
    """Base of the readers of files that hold one JSON object a line."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.records = source.lines.records
        self.out.skipped.extend(source.lines.skipped)
        replaced = source.lines.replaced
        self.out.left_out["lines held bytes that are not UTF-8, shown as U+FFFD"] += replaced

    def close(self) -> Imported:
        """Close the books over all lines."""
        return self.finish(line.number for line in self.records)
