"""The smallest Textual app there is: what the program's start and memory are compared with."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Hello(App[None]):
    """One line of text."""

    def compose(self) -> ComposeResult:
        """Show it."""
        yield Static("Hello, world")


if __name__ == "__main__":
    Hello().run()
