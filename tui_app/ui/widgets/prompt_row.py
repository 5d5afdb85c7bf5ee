"""The row that holds the prompt editor: its sign, the size of the draft, and the command list above."""

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive
from textual.widgets import Static

from tui_app.ui.format import tokens
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.widgets.prompt import PromptEditor
from tui_app.ui.widgets.slash_list import SlashList


class PromptRow(Vertical):
    """The prompt with its sign, the size of the draft in tokens, and the command list above it."""

    DEFAULT_CSS = """
    PromptRow { height: auto; width: 1fr; }
    PromptRow > #prompt-line {
        height: auto; border-top: solid $border-blurred; border-bottom: solid $border-blurred;
    }
    PromptRow:focus-within > #prompt-line { border-top: solid $border; border-bottom: solid $border; }
    PromptRow.-plain > #prompt-line { border: none; }
    PromptRow #prompt-sign { width: 2; color: $text-accent; text-style: bold; }
    PromptRow #prompt-count { width: auto; padding-left: 1; color: $text-muted; }
    """

    count: reactive[int] = reactive(0)
    """Tokens of the draft; 0 shows nothing."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    def __init__(self, *, prompts: list[str] | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._slash = SlashList()
        self.editor = PromptEditor(self._slash, prompts=prompts, id="prompt")

    def compose(self) -> ComposeResult:
        """Stack the command list on the line with sign, editor and size."""
        yield self._slash
        with Horizontal(id="prompt-line"):
            yield Static(id="prompt-sign", markup=False)
            yield self.editor
            yield Static(id="prompt-count", markup=False)

    def watch_count(self, count: int) -> None:
        """Show the size of the draft."""
        for label in self.query("#prompt-count").results(Static):
            label.update(f"~{tokens(count)} tok" if count else "")

    def watch_glyphs(self, glyphs: Glyphs) -> None:
        """Show the sign, and rules only where the terminal draws them."""
        self.set_class(glyphs.gauge_full.isascii(), "-plain")
        self._slash.glyphs = glyphs
        for label in self.query("#prompt-sign").results(Static):
            label.update(glyphs.prompt)

    def on_mount(self) -> None:
        """Draw what was set before the children existed."""
        self.watch_count(self.count)
        self.watch_glyphs(self.glyphs)
