"""The newest line stays in sight whatever else on the screen grows or shrinks."""

from textual.app import App, ComposeResult
from textual.widgets import Static

from tests.ui.widgets.transcript_kit import Library, Talk
from tui_app.ui.text import UNICODE
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript


class Neighbours(App[None]):
    """A transcript and a timeline above a row that comes and goes."""

    def __init__(self, talk: Talk) -> None:
        super().__init__()
        self.talk = talk

    def compose(self) -> ComposeResult:
        yield Transcript(self.talk.library, UNICODE)
        yield Timeline(UNICODE)
        yield Static("row\nrow\nrow", id="row")

    def on_mount(self) -> None:
        for widget in (self.query_one(Transcript), self.query_one(Timeline)):
            widget.styles.height = "1fr"
            widget.set_entries(self.talk.entries)
        self.query_one("#row").styles.height = "auto"


async def test_a_neighbour_that_comes_and_goes_is_no_scrolling() -> None:
    talk = Talk(Library())
    for number in range(80):
        talk.add("user", f"prompt {number}")
    app = Neighbours(talk)
    async with app.run_test(size=(60, 30)) as pilot:
        transcript, timeline = app.query_one(Transcript), app.query_one(Timeline)
        for number in range(6):
            app.query_one("#row").display = number % 2 == 0
            await pilot.pause()
            transcript.append(entry := talk.add("user", f"another {number}"))
            timeline.append(entry)
            await pilot.pause()
            assert transcript.unread == 0
            assert transcript.scroll_offset.y == transcript.max_scroll_y
            assert timeline.scroll_offset.y == timeline.max_scroll_y
