"""Commands from Markdown files: which are found, and what each stands for."""

from pathlib import Path

import pytest

from tui_app.files import Refused
from tui_app.ui.slash import find_commands, named, prompt_of


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_nearest_wins_and_no_built_in_name_is_taken(tmp_path: Path) -> None:
    root, config = tmp_path / "ship", tmp_path / "config"
    (root / ".git").mkdir(parents=True)
    write(root / ".plimsoll/commands/tide.md", "root")
    write(root / "deck/.plimsoll/commands/tide.md", "# deck\nmore")
    write(config / "commands/tide.md", "mine")
    write(config / "commands/moon.md", "---\ndescription: Ask\nargument-hint: '[day]'\n---\nWhen? $1")
    write(config / "commands/compact.md", "never")
    write(config / "commands/Bad Name.md", "never")
    write(config / "commands/notes.txt", "never")
    found = find_commands(root / "deck", config, {"compact"})
    assert [(each.name, each.summary, each.argument) for each in found] == [
        ("moon", "Ask", "[day]"),
        ("tide", "deck", ""),
    ]


def test_a_link_out_of_the_repository_is_no_command(tmp_path: Path) -> None:
    root = tmp_path / "ship"
    (root / ".git").mkdir(parents=True)
    (root / ".plimsoll/commands").mkdir(parents=True)
    (root / ".plimsoll/commands/leak.md").symlink_to(write(tmp_path / "secret", "a key"))
    assert find_commands(root, tmp_path / "config", ()) == ()


@pytest.mark.parametrize(
    ("body", "argument", "prompt"),
    [
        ("Say $ARGUMENTS!", "ahoy there", "Say ahoy there!"),
        ("$1 and $2, not $3.", 'one "two words"', "one and two words, not ."),
        ("$1", "$ARGUMENTS", "$ARGUMENTS"),
        ("No place.", "more", "No place.\n\nmore"),
        ("No place.", "", "No place."),
        ("$1", 'open "quote', "open"),
        ("It costs $10 or $X.", "", "It costs $10 or $X."),
    ],
)
def test_arguments(tmp_path: Path, body: str, argument: str, prompt: str) -> None:
    write(tmp_path / "commands/say.md", body)
    (command,) = find_commands(tmp_path / "empty", tmp_path, ())
    assert prompt_of(command, argument) == prompt


def test_only_the_exact_name_counts_and_a_lost_file_is_said(tmp_path: Path) -> None:
    file = write(tmp_path / "commands/say.md", "x")
    found = find_commands(tmp_path / "empty", tmp_path, ())
    assert named(found, "/sa") is None
    assert named(found, "/Say  it now") == (found[0], "it now")
    assert named(found, "/") is None
    file.unlink()
    with pytest.raises(Refused):
        prompt_of(found[0], "")
