"""Commands and their options, rows of ``commands.json`` in this folder, for argparse.

``shared`` has rows that several commands use; ``like`` copies one and changes it. A row is a flag, an option
with a value, or a positional argument. ``setting`` parses a value like the settings file does; a flag with it
is None if not given. ``choices`` of an action name the function for each, and its arguments; ``only`` names
the actions that accept an option. All other fields are passed to argparse.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib.resources import files
from pkgutil import resolve_name
from typing import Any

from tui_app.cli.core.command import Parser, Program, WrongUsage
from tui_app.modes import ABOUT
from tui_app.providers import OFFLINE_MODEL
from tui_app.records import frozen
from tui_app.references import log_number
from tui_app.settings.rules import Refused, read_text, show
from tui_app.settings.spec import EFFORTS, SETTINGS
from tui_app.settings.tables import POLICIES, parse_rule
from tui_app.tool_specs import RUN_COMMAND, WRITE_FILE
from tui_app.version import __version__

CHOICE = "one of them at most"
"""The group of mutually exclusive options."""


@frozen
class Option:
    """One row."""

    name: str
    about: Mapping[str, Any]
    """Arguments for argparse."""
    only: str = ""
    """Actions that accept it, separated by spaces; empty for all."""
    group: str = ""
    """Its heading in the help, or ``CHOICE``."""
    actions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For each action its function and arguments."""

    @property
    def is_hidden(self) -> bool:
        return self.about["help"] is argparse.SUPPRESS


@cache
def table() -> Mapping[str, Any]:
    """Return the rows of the screen (``screen``) and of each command (``commands``)."""
    found: Mapping[str, Any] = json.loads(
        files(__package__).joinpath("commands.json").read_text(encoding="utf-8")
    )
    return found


def read_options(rows: Sequence[str | Mapping[str, Any]]) -> tuple[Option, ...]:
    """Read rows; a name alone refers to a shared row."""
    return tuple(_option({"like": row} if isinstance(row, str) else row) for row in rows)


def _option(row: Mapping[str, Any]) -> Option:
    about = {**table()["shared"].get(row.get("like"), {}), **row}
    about.pop("like", None)
    name, only, group = about.pop("name"), about.pop("only", ""), about.pop("group", "")
    setting = about.pop("setting", "")
    about["help"] = argparse.SUPPRESS if about.pop("hidden", False) else about.get("help", "default: list")
    about["help"] = about["help"].format_map(_FACTS)
    if isinstance(about.get("choices"), str):
        about["choices"] = tuple(resolve_name(about["choices"]))
    if "type" in about:
        about["type"] = _READERS[about["type"]]
    actions = about["choices"] if name == "action" else {}
    if actions:
        # The first action is the default.
        about |= {"nargs": "?", "default": next(iter(actions)), "choices": tuple(actions)}
    if about.pop("repeated", False):
        about |= {"action": "append", "default": []}
    if about.pop("flag", False):
        about |= {"action": "store_true", **({"default": None} if setting else {})}
    elif setting:
        about["type"] = _checked(lambda text: read_text(SETTINGS[setting].rule, text))
    return Option(name, about, only, group, actions)


@frozen
class Command:
    """One command: its name, options and function."""

    name: str
    summary: str
    does: str
    """Module and function; empty if its actions name them."""
    options: tuple[Option, ...]

    def execute(self, program: Program, args: argparse.Namespace) -> int | None:
        """Run the command; return an exit code unless it is OK.

        Raises:
            WrongUsage: if the arguments are contradictory.
            CommandFailed: if the command failed.
        """
        does, form = self.actions[args.action] if self.actions else (self.does, "")
        if self.actions:
            self._check_words(form.split(), args)
        work: Callable[[Program, argparse.Namespace], int | None] = resolve_name(f"tui_app.cli.{does}")
        return work(program, args)

    @property
    def actions(self) -> Mapping[str, Sequence[str]]:
        return next((each.actions for each in self.options if each.actions), {})

    def _check_words(self, form: Sequence[str], args: argparse.Namespace) -> None:
        named = (each for each in self.options if each.name.isidentifier() and not each.is_hidden)
        words = [getattr(args, each.name) for each in named]
        given = sum(len(each) if isinstance(each, list) else each is not None for each in words) - 1
        least = next((at for at, word in enumerate(form) if word.startswith("[")), len(form))
        if given < least or (given > len(form) and "…" not in "".join(form)):
            usage = " ".join((f"Usage: plimsoll {self.name} {args.action}", *form))
            raise WrongUsage(f"{usage}. To see them: plimsoll {self.name}" if given < least else usage)

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_options(parser, self.options)


def load_command(name: str) -> Command:
    row = COMMANDS[name]
    return Command(name, row["summary"], row.get("does", ""), read_options(row["options"]))


class ScreenParser(Parser):
    """The parser of ``plimsoll`` itself; its help lists the commands."""

    def format_help(self) -> str:
        rows = [(f"{name} {row['usage']}", row["summary"]) for name, row in COMMANDS.items()]
        width = max(len(usage) for usage, _ in rows)
        lines = [f"  {usage:<{width}}  {summary}" for usage, summary in rows]
        last = "plimsoll COMMAND --help says more about a command."
        self.epilog = "\n".join(["commands:", *lines, "", last])
        return super().format_help()


def parse(command: Command, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of a command.

    Args:
        command: The command.
        argv: The arguments after its name.

    Raises:
        SystemExit: after help, or for an invalid argument.
    """
    parser = Parser(prog=f"plimsoll {command.name}", description=command.summary, allow_abbrev=False)
    command.configure(parser)
    # Intermixed: otherwise an action takes only adjacent words, and none after the next option.
    args = parser.parse_intermixed_args(argv)
    for each in command.options:
        name, actions = each.name.strip("-").replace("-", "_"), each.only.split()
        if actions and args.action not in actions and getattr(args, name) != parser.get_default(name):
            parser.error(f"{each.name} is for {command.name} {', '.join(actions)}")
    return args


def screen_parser() -> Parser:
    parser = ScreenParser(
        prog="plimsoll",
        usage="plimsoll [PATH] [options]\n       plimsoll COMMAND [options]",
        description="A terminal agent whose conversation never outgrows its model.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"plimsoll {__version__}")
    add_options(parser, read_options(table()["screen"]))
    return parser


def add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    places: dict[str, Any] = {"": parser}
    for each in options:
        if each.group not in places:
            is_choice = each.group == CHOICE
            group = (
                parser.add_mutually_exclusive_group() if is_choice else parser.add_argument_group(each.group)
            )
            places[each.group] = group
        places[each.group].add_argument(*each.name.split(", "), **each.about)


def _checked(read: Callable[[str], object]) -> Callable[[str], object]:
    """Parse an option; a refusal names the allowed values."""

    def checked(text: str) -> object:
        try:
            return read(text)
        except Refused as refused:
            raise argparse.ArgumentTypeError(f"{refused.shown}; allowed: {refused.allowed}") from None

    return checked


def _number(text: str) -> int:
    if found := log_number(text):
        return found
    raise argparse.ArgumentTypeError(f"{text:.40}; allowed: the number of a message, such as 12 or #12")


def _port(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < 65_536:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; allowed: 1 to 65535")


def _guard(text: str) -> str:
    from tui_app.conversation.consent.guards import parse_guard

    return parse_guard(text).text


def _tool(text: str) -> tuple[str, str]:
    name, _, state = text.rpartition("=")
    if not name.strip() or state not in ("on", "off"):
        raise Refused(show(text), "NAME=off or NAME=on")
    return name.strip(), state


_READERS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "number": _number,
    "port": _port,
    "guard": _checked(_guard),
    "tool": _checked(_tool),
    "rule": _checked(lambda text: parse_rule("allow", text, "command line").text),
}
_FACTS = {
    "offline": OFFLINE_MODEL,
    "policies": ", ".join(POLICIES),
    "efforts": ", ".join(EFFORTS),
    "modes": ", ".join(f"{mode} ({about[0].lower()}{about[1:]})" for mode, about in ABOUT.items()),
    "commands": RUN_COMMAND.name,
    "writing": WRITE_FILE.name,
}
"""Texts for the names in braces of the table."""
COMMANDS: Mapping[str, Mapping[str, Any]] = table()["commands"]
"""In the order of the help. A folder with such a name can be opened as ``./name``."""
