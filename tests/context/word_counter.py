"""A text counter that tests can follow in their heads."""

from tui_app.context.counting.encodings import TextCounter


class WordCounter(TextCounter):
    """Counts words and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__("o200k_base")
        self.asked: list[str] = []
        self.ready = False

    @property
    def loaded(self) -> bool:
        return self.ready

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text.split()) * (10 if self.ready else 1)
