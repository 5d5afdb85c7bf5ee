"""Commands: run by exact name only, including those from Markdown files."""

from inspect import signature
from pathlib import Path

import pytest

from tui_app.system.project_files import Refused, anything
from tui_app.ui import slash
from tui_app.ui.slash import (
    ParsedCommand,
    SlashCommand,
    UnknownCommand,
    complete,
    find_commands,
    is_command,
    named,
    parse,
    prompt_of,
)
from tui_app.ui.slash_commands import COMMANDS, Flow

# Commands run by exact name only.


@pytest.mark.parametrize(
    ("text", "wanted", "argument"),
    [
        ("/compact", "compact", ""),
        ("/compact  keep the   schema", "compact", "keep the   schema"),
        ("/Summarize", "compact", ""),
        ("/offload x", "compact", "x"),
        ("/tokens", "context", ""),
        ("/threads", "resume", ""),
        ("/sessions", "resume", ""),
        ("/exit ", "quit", ""),
        ("/model openai:gpt-5-mini", "model", "openai:gpt-5-mini"),
        ("/session checkpoints", "session checkpoints", ""),
        ("/export a/b.md", "export", "a/b.md"),
    ],
)
def test_exact_names_and_aliases(text: str, wanted: str, argument: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, ParsedCommand)
    assert (parsed.command.name, parsed.argument) == (wanted, argument)


@pytest.mark.parametrize(
    ("text", "closest"),
    [("/compac", "compact"), ("/contxt", "context"), ("/session", "sessions"), ("/quti", "quit")],
)
def test_near_misses_are_named_not_run(text: str, closest: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, UnknownCommand)
    assert parsed.message == f"No command {text}. Closest: /{closest}"


def test_a_name_that_resembles_no_command_gets_no_suggestion() -> None:
    parsed = parse("/foo")
    assert isinstance(parsed, UnknownCommand)
    assert parsed.message == "No command /foo. /help lists all."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/help", True),
        ("/", True),
        ("/foo bar/baz", True),
        ("/etc/hosts is odd", False),
        ("a /help", False),
        ("", False),
    ],
)
def test_paths_and_prose_are_no_commands(text: str, expected: bool) -> None:
    assert is_command(text) is expected


def test_names_and_handlers_are_unique() -> None:
    names = [name for command in COMMANDS for name in command.names]
    assert len(names) == len(set(names))
    assert len({command.handler for command in COMMANDS}) == len(COMMANDS)


def test_what_commands_call_takes_what_they_give() -> None:
    flows = [command.handler for command in COMMANDS if isinstance(command.handler, Flow)]
    assert len(flows) > 30
    for flow in flows:
        parameters = signature(flow.function).parameters.values()
        names = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
        known = [name for name in ("app", "session") if name in names]
        assert names[: len(known)] == known
        assert len(names) <= len(known) + 1, "the argument is one"


def test_completion_finds_names_and_aliases_equal_ones_in_table_order() -> None:
    assert [command.name for command in complete("/co")] == ["compact", "context", "copy", "commit"]
    assert [command.name for command in complete("/summ")] == ["compact"]
    assert complete("/") == list(COMMANDS)
    assert complete("/zzz") == []


NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("/session", ["session checkpoints", "resume"]),
        ("/sta", ["status", "stats"]),
        ("/s", [*(name for name in NAMES if name.startswith("s")), "compact", "resume"]),
        ("/sessions", ["resume"]),
    ],
)
def test_a_name_comes_before_an_alias(typed: str, names: list[str]) -> None:
    assert [command.name for command in complete(typed)] == names


def test_an_exact_name_or_alias_comes_before_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object) -> None: ...

    def row(name: str, *aliases: str) -> SlashCommand:
        return SlashCommand(name, "", nothing, aliases)

    table = (row("alias prefix", "tidemark"), row("tides"), row("alias", "tide"), row("tide table"))
    monkeypatch.setattr(slash, "COMMANDS", table)
    assert [command.name for command in complete("/Tide")] == ["alias", "tides", "tide table", "alias prefix"]
    monkeypatch.setattr(slash, "COMMANDS", (*table, row("tide")))
    assert complete("/tide")[0].name == "tide"


def test_what_changes_the_history_waits_while_busy() -> None:
    waiting = {command.name for command in COMMANDS if command.busy == "queue"}
    assert {"compact", "clear", "model"} <= waiting
    assert not waiting & {"context", "help", "quit", "status"}


# Commands from Markdown files: discovery and expansion.


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
    found = find_commands(root / "deck", config, {"compact"}, anything)
    assert [(each.name, each.summary, each.argument) for each in found] == [
        ("moon", "Ask", "[day]"),
        ("tide", "deck", ""),
    ]


def test_a_link_out_of_the_repository_is_no_command(tmp_path: Path) -> None:
    root = tmp_path / "ship"
    (root / ".git").mkdir(parents=True)
    (root / ".plimsoll/commands").mkdir(parents=True)
    (root / ".plimsoll/commands/leak.md").symlink_to(write(tmp_path / "secret", "a key"))
    assert find_commands(root, tmp_path / "config", (), anything) == ()


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
    (command,) = find_commands(tmp_path / "empty", tmp_path, (), anything)
    assert prompt_of(command, argument, anything) == prompt


def test_only_the_exact_name_counts_and_a_lost_file_is_said(tmp_path: Path) -> None:
    file = write(tmp_path / "commands/say.md", "x")
    found = find_commands(tmp_path / "empty", tmp_path, (), anything)
    assert named(found, "/sa") is None
    assert named(found, "/Say  it now") == (found[0], "it now")
    assert named(found, "/") is None
    file.unlink()
    with pytest.raises(Refused):
        prompt_of(found[0], "", anything)
