"""A stored look detects every visible difference: text, position, colour, attribute."""

from pathlib import Path

import pytest
from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from tests.ui.kit import ThemedApp
from tests.ui.looks import BOTH, Looks, Screen, kept_looks
from tui_app.ui.colours.themes import THEMES

SIZE = (20, 3)
HELLO = [("Hello ", "bold"), ("there", "#aa0000"), ("\n潮 is 2 wide", "")]


class Words(ThemedApp):
    """Some text in several styles."""

    CSS = "Static { width: auto; color: $text-muted; background: $panel; }"

    def __init__(self, *words: tuple[str, str], left: int = 0) -> None:
        super().__init__()
        self.words, self.left = words, left

    def compose(self) -> ComposeResult:
        words = Static(Text.assemble(*self.words))
        words.styles.margin = (0, 0, 0, self.left)
        yield words

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "looks.txt"


async def look(file: Path, app: Words, *, update: bool = False) -> None:
    await Looks(file, "hello", update=update)(app, sizes=[SIZE])


async def test_what_is_kept_can_be_read(file: Path) -> None:
    await look(file, Words(*HELLO), update=True)
    kept = kept_looks(file)["hello 20x3 dark light"]
    assert kept.startswith("|Hello there\n|潮 is 2 wide\n|\n")
    assert "text-muted on panel bold" in kept
    assert "#aa0000 on panel" in kept
    assert Screen.read(kept).write() == kept
    await look(file, Words(*HELLO))


@pytest.mark.parametrize(
    ("words", "left", "said"),
    [
        ([("Hello ", "bold"), ("thera", "#aa0000"), ("\n潮 is 2 wide", "")], 0, "+Hello thera"),
        (HELLO, 1, "+ Hello there"),
        (
            [("Hello ", ""), *HELLO[1:]],
            0,
            "columns 1 to 6 'Hello ': text-muted on panel, was text-muted on panel bold",
        ),
        (
            [*HELLO[:1], ("there", "#00aa00"), HELLO[2]],
            0,
            "columns 7 to 12 'there': #00aa00 on panel, was #aa0000",
        ),
        (
            [("Hello ", "bold on #aa0000"), *HELLO[1:]],
            0,
            "row 1, columns 1 to 6 'Hello ': text-muted on #aa0000 bold",
        ),
        ([*HELLO[:2], ("\n潮 is ", ""), ("2", "underline"), (" wide", "")], 0, "row 2, columns 7 to 7"),
        ([*HELLO[:2], ("\n潮 is", ""), (" ", "reverse"), ("2 wide", "")], 0, "row 2, columns 6 to 6"),
    ],
    ids=["word", "place", "bold", "colour", "ground", "underline", "reverse"],
)
async def test_a_change_is_told_by_its_place(
    file: Path, words: list[tuple[str, str]], left: int, said: str
) -> None:
    await look(file, Words(*HELLO), update=True)
    with pytest.raises(pytest.fail.Exception) as failed:
        await look(file, Words(*words, left=left))
    assert said in str(failed.value)


async def test_a_state_without_a_look_fails(file: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="hello 20x3 dark light in looks"):
        await look(file, Words(*HELLO))


async def test_styles_keep_their_letters(file: Path) -> None:
    await look(file, Words(*HELLO), update=True)
    before = Screen.read(kept_looks(file)["hello 20x3 dark light"]).legend
    await look(file, Words(("Oh, ", "italic"), *HELLO), update=True)
    after = Screen.read(kept_looks(file)["hello 20x3 dark light"]).legend
    assert before.items() < after.items()


async def test_themes_show_the_same_text(file: Path) -> None:
    class Naming(Words):
        def watch_theme(self, theme: str) -> None:
            self.query(Static).only_one().update(theme[-5:])

    with pytest.raises(AssertionError, match="text differs between themes"):
        await look(file, Naming(*HELLO), update=True)
    assert BOTH == ("dark", "light")
