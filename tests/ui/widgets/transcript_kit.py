"""A sample conversation, an app that shows it, and readers for its screen."""

from collections.abc import Callable, Sequence

from textual.app import ComposeResult

from tests.ui.kit import ThemedApp
from tui_app.events import RowKind
from tui_app.session.views.entries import Body, Entry, EntryState
from tui_app.ui.transcript.lines import GUTTER, SIGN, Line
from tui_app.ui.transcript.transcript import STREAM_END, Transcript

NOON = 1_767_268_800.0
ANSWER = """The parser drops rows whose weekday is `0`.

```python
def rows(table):
    return [row for row in table if row.weekday is not None]
```

- first
- second
"""


class Library:
    """Bodies by sequence number; counts the reads."""

    def __init__(self) -> None:
        self.bodies: dict[int, Body] = {}
        self.asked: list[int] = []

    def body(self, entry: Entry) -> Body:
        self.asked.append(entry.seq)
        return self.bodies.get(entry.seq, Body(text=entry.title))

    def preview(self, entry: Entry) -> Body:
        return self.body(entry)


class Talk:
    """Builds entries with rising sequence numbers."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.entries: list[Entry] = []

    def add(
        self,
        kind: RowKind,
        title: str,
        *,
        body: Body | None = None,
        state: EntryState = "ok",
        tokens: int = 0,
    ) -> Entry:
        seq = len(self.entries) + 1
        text = body.text if body else title
        entry = Entry(
            seq=seq,
            kind=kind,
            time=NOON,
            title=title,
            state=state,
            tokens=tokens,
            chars=len(text),
            result_seq=0,
        )
        if body is not None:
            self.library.bodies[seq] = body
        self.entries.append(entry)
        return entry

    def turn(self, number: int) -> None:
        self.add("user", f"prompt {number}")
        self.add("tool", f"grep {number} · 3 hits", tokens=212)
        self.add("assistant", f"answer {number}", body=Body(text=f"answer {number}\n\n{ANSWER}"))


class Stage(ThemedApp):
    """An app with only a transcript."""

    def __init__(self, library: Library, entries: Sequence[Entry] = ()) -> None:
        super().__init__()
        self.library = library
        self.entries = entries
        self.heard: list[Transcript.Asked] = []

    def compose(self) -> ComposeResult:
        yield Transcript(self.library)

    def on_mount(self) -> None:
        self.transcript.set_entries(self.entries)
        self.transcript.focus()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_transcript_asked(self, event: Transcript.Asked) -> None:
        self.heard.append(event)


def written(line: Line) -> str:
    """The text of a line, including its sign."""
    return line.strip.text[SIGN:].rstrip().removeprefix(" " * (GUTTER - SIGN))


def rows(widget: Transcript) -> list[str]:
    """The visible lines, without the marker after text being written."""
    lines = (widget.render_line(y).text for y in range(widget.size.height))
    return [line.replace(STREAM_END, "").rstrip() for line in lines]


def row_with(widget: Transcript, text: str) -> int:
    """Index of the first visible row that contains a text."""
    found = [y for y, row in enumerate(rows(widget)) if text in row]
    assert found, f"{text!r} is not on screen:\n" + "\n".join(rows(widget))
    return found[0]


def long_talk(turns: int = 40) -> tuple[Library, list[Entry]]:
    """A conversation of several screens."""
    library = Library()
    talk = Talk(library)
    for number in range(turns):
        talk.turn(number)
    return library, talk.entries


def stage_of(*make: Callable[[Talk], object]) -> Stage:
    """An app whose conversation is built by calls on a talk."""
    library = Library()
    talk = Talk(library)
    for call in make:
        call(talk)
    return Stage(library, talk.entries)
