"""The example on the page about simulating is what the program prints and draws."""

import re
from pathlib import Path

import pytest

from tests.conversation.simulating_kit import session
from tests.docs.pages import ROOT, code_blocks, page
from tui_app.__main__ import main
from tui_app.conversation.view_messages import storable_list

TURNS = [(300, 200, 400), (250, 150), (), (500, 300), (60,), (350, 350, 350)] * 10
PICTURE = ROOT / "assets" / "simulate.svg"


def unpriced(text: str) -> str:
    """Prices change with the price list, and the width of their column with them."""
    return re.sub(r" +", " ", re.sub(r"\$[\d.]+", "$", text)).strip()


def test_the_example_is_what_is_printed_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("harbour.json").write_text(storable_list(list(session(TURNS)))[0])
    text = page("docs/simulate.md")
    [command] = code_blocks(text, "sh")
    assert main(command.split()[1:]) == 0
    printed = capsys.readouterr().out.partition("\nDrawn:")[0]
    [example] = code_blocks(text, "text")
    assert unpriced(example) == unpriced(printed)
    assert Path("harbour.svg").read_text() == PICTURE.read_text()
