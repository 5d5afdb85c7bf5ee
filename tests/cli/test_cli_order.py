"""Options and words of a command in any order: what is asked for is the same."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import combinations

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.cli.program import COMMANDS, load_command, parse

Option = tuple[str, ...]

CASES: list[tuple[str, tuple[str, ...], tuple[Option, ...]]] = [
    ("run", ("low water",), (("--json",), ("--model", "offline:extractive"), ("--session", "a1b2"))),
    ("run", ("-",), (("--yes",), ("--allow", "shell"))),
    ("sessions", (), (("--json",),)),
    ("sessions", ("list",), (("--json",),)),
    ("sessions", ("show", "a1b2"), (("--json",),)),
    ("sessions", ("search", "low", "water"), (("--json",),)),
    ("sessions", ("rename", "a1b2", "Low", "water"), (("--json",),)),
    ("sessions", ("fork", "a1b2"), (("--at", "3"), ("--json",))),
    ("sessions", ("delete", "a1b2"), (("--yes",), ("--json",))),
    ("sessions", ("backup", "copy.db"), (("--json",),)),
    ("sessions", ("prune",), (("--dry-run",), ("--yes",))),
    ("import", ("one.jsonl", "two.jsonl"), (("--format", "codex"), ("--json",))),
    ("export", ("a1b2",), (("--format", "html"), ("-o", "page.html"), ("--force",))),
    ("context", ("a1b2",), (("--json",), ("--window", "8000"), ("--pin", "3"))),
    ("stats", ("a1b2",), (("--json",),)),
    ("memory", ("add", "Ships", "sail"), (("--kind", "rule"), ("--everywhere",), ("--json",))),
    ("memory", ("edit", "1", "Ships sail"), (("--json",), ("--folder", "."))),
    ("memory", ("forget", "1"), (("--yes",), ("--json",))),
    ("memory", ("run", "a1b2"), (("--model", "offline:extractive"), ("--json",))),
    ("memory", ("list",), (("--all",), ("--pruned",))),
    ("compact", ("a1b2",), (("--focus", "tides"), ("--from", "2"), ("--dry-run",), ("--json",))),
    ("simulate", ("a1b2", "b2c3"), (("--window", "8000"), ("--json",), ("--verbose",))),
    ("models", (), (("--all",), ("--json",))),
    ("keys", ("set", "OPENAI_API_KEY"), (("--json",),)),
    ("keys", ("unset", "OPENAI_API_KEY"), (("--json",),)),
    ("doctor", (), (("--repair",), ("--json",))),
    ("schema", ("error",), (("--json",),)),
    ("serve", (".",), (("--port", "8000"), ("--no-token",))),
    ("acp", (), (("--model", "offline:extractive"), ("--window", "8000"))),
    ("config", ("set", "theme", "dark"), (("--json",),)),
    ("config", ("show", "theme"), (("--json",),)),
]


def orders(words: Sequence[str], options: Sequence[Option]) -> Iterator[list[str]]:
    """Every way to put the options, in their order, before, between and behind the words."""
    for places in combinations(range(len(words) + len(options)), len(options)):
        rest, left = iter(words), iter(options)
        yield [
            part
            for place in range(len(words) + len(options))
            for part in (next(left) if place in places else (next(rest),))
        ]


def parsed(name: str, argv: Sequence[str]) -> Namespace:
    return parse(load_command(name), argv)


@pytest.mark.parametrize(("name", "words", "options"), CASES, ids=[" ".join((c[0], *c[1])) for c in CASES])
def test_options_may_stand_anywhere(name: str, words: Sequence[str], options: Sequence[Option]) -> None:
    expected = parsed(name, [*words, *(part for option in options for part in option)])
    for argv in orders(words, options):
        assert parsed(name, argv) == expected, argv


def test_every_command_is_looked_at() -> None:
    assert {name for name, _, _ in CASES} == set(COMMANDS)


def test_what_stands_behind_two_dashes_is_a_word() -> None:
    for argv in (["add", "--json", "--", "--all"], ["--json", "add", "--", "--all"]):
        args = parsed("memory", argv)
        assert (args.action, args.words, args.json, args.all) == ("add", ["--all"], True, False)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("sessions", "delete", "--sure", "a1b2"), "Unrecognized arguments: --sure"),
        (("export", "--json", "a1b2"), "Unrecognized arguments: --json"),
        (("stats", "--json", "a1b2", "b2c3"), "Unrecognized arguments: b2c3"),
        (("export",), "The following arguments are required: ID"),
        (("sessions", "--yes", "burn", "a1b2"), "invalid choice: 'burn'"),
    ],
)
def test_what_nobody_knows_is_refused(plimsoll: Plimsoll, argv: tuple[str, ...], told: str) -> None:
    done = plimsoll(*argv)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert f"See: plimsoll {argv[0]} --help" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_words_as_well(plimsoll: Plimsoll, name: str) -> None:
    shown = plimsoll(name, "--help").out
    assert shown.startswith(f"usage: plimsoll {name} ")
    words = {word for case, words, _ in CASES if case == name for word in words}
    assert ("positional arguments:" in shown) is bool(words)


def test_options_in_front_of_the_words_are_heard(plimsoll: Plimsoll) -> None:
    assert plimsoll("memory", "add", "--kind", "rule", "Never push on Fridays").code == 0
    assert '"kind": "rule"' in plimsoll("memory", "list", "--json").out
    assert plimsoll("memory", "forget", "--yes", "1").code == 0
