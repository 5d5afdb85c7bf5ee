"""The person's own editor where none can be opened: said in a sentence, and the draft stays."""

import os
from pathlib import Path

import pytest

from tests.ui.kit import Desk, shown
from tui_app.ui.prompt.external_editor import NO_EDITOR, EditorProblem, edited, editor_command


def script(folder: Path, body: str) -> list[str]:
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return [str(path)]


@pytest.mark.parametrize("keys", [["f4"], [*"/editor", "enter"]])
async def test_without_a_terminal_it_says_that_it_cannot(desk: Desk, keys: list[str]) -> None:
    desk.env["EDITOR"] = "true"
    async with shown(desk.app()) as deck:
        await deck.ready()
        if keys == ["f4"]:
            await deck.type("a draft")
        await deck.press(*keys)
        await deck.says("There is no terminal here that an editor could open in.")
        assert deck.editor.text == ("a draft" if keys == ["f4"] else "")


async def test_without_an_editor_it_says_how_to_set_one(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("/editor what I began with")
        await deck.says(NO_EDITOR)
        assert deck.editor.text == "what I began with"


def test_visual_comes_first_and_arguments_are_understood() -> None:
    assert editor_command({"VISUAL": "code --wait 'a b'", "EDITOR": "ed"}) == ["code", "--wait", "a b"]
    assert editor_command({"VISUAL": "", "EDITOR": "ed"}) == ["ed"]
    with pytest.raises(EditorProblem, match="cannot be understood"):
        editor_command({"EDITOR": "nano 'open"})


def test_the_file_is_the_persons_alone_and_gone_afterwards(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    command = script(tmp_path, f'ls -l "$1" > "{seen}"; echo "$1" >> "{seen}"; printf "new\\n" > "$1"')
    assert edited(command, "old", dict(os.environ), tmp_path) == "new"
    rights, name = seen.read_text().splitlines()
    assert rights.startswith("-rw-------")
    assert not Path(name).exists()


def test_what_is_not_changed_comes_back_as_it_was(tmp_path: Path) -> None:
    for text in ("", "one", "one\n", "ä\ntwo"):
        assert edited(script(tmp_path, "true"), text, dict(os.environ), tmp_path) == text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 3", "my editor ended with an error (3), so what it saved is not used. The draft is kept."),
        ('rm "$1"', "my editor could not be used: No such file or directory. The draft is kept."),
    ],
)
def test_failures_are_sentences(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(EditorProblem) as error:
        edited(script(tmp_path, body), "text", dict(os.environ), tmp_path)
    assert str(error.value) == said


def test_an_editor_that_is_not_there(tmp_path: Path) -> None:
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("plimsoll-*.md"))
    with pytest.raises(EditorProblem, match="no-such-editor could not be used"):
        edited(["no-such-editor"], "text", {"PATH": str(tmp_path)}, tmp_path)
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("plimsoll-*.md")) <= before
