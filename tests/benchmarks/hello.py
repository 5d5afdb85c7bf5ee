"""The smallest Textual app: the baseline of the program's start-up time and memory."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Hello(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("Hello, world")


if __name__ == "__main__":
    Hello().run()
