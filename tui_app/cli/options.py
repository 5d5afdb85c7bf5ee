"""Options of commands as rows of a table, and the rows that several commands share."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tui_app.modes import ABOUT
from tui_app.providers import OFFLINE_MODEL
from tui_app.records import frozen
from tui_app.references import log_number
from tui_app.settings.rules import Refused, read_text, show
from tui_app.settings.spec import EFFORTS, SETTINGS
from tui_app.settings.tables import POLICIES, parse_rule
from tui_app.tool_specs import RUN_COMMAND, WRITE_FILE


@frozen
class Option:
    """One row: a flag, an option with a value, or a word without a name before it."""

    names: tuple[str, ...]
    about: Mapping[str, Any]
    """What argparse is told of it."""
    only: str = ""
    """Actions that alone take it, separated by spaces; empty for all."""
    group: str = ""
    """Heading in the help that it is under, or ``CHOICE``."""


CHOICE = "one of them at most"
"""The group of options that exclude each other."""


def add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    places: dict[str, Any] = {"": parser}
    for each in options:
        if each.group not in places:
            is_choice = each.group == CHOICE
            group = (
                parser.add_mutually_exclusive_group() if is_choice else parser.add_argument_group(each.group)
            )
            places[each.group] = group
        places[each.group].add_argument(*each.names, **each.about)


def option(
    name: str, metavar: str | None, help: str, *, only: str = "", group: str = "", **about: Any
) -> Option:
    """An option with a value, or a word without a name before it; ``about`` is further told to argparse."""
    return Option((name,), {"metavar": metavar, "help": help, **about}, only, group)


def repeated(name: str, metavar: str, help: str, *, only: str = "", **about: Any) -> Option:
    return option(name, metavar, help, only=only, action="append", default=[], **about)


def flag(name: str, help: str, *, only: str = "", group: str = "", **about: Any) -> Option:
    return Option((name,), {"action": "store_true", "help": help, **about}, only, group)


def action(*names: str, help: str = "default: list") -> Option:
    """The word that says what a command does; the first one does not have to be said."""
    return Option(("action",), {"nargs": "?", "choices": names, "default": names[0], "help": help})


def setting(key: str) -> Callable[[str], object]:
    """Reader for a flag that is a setting: the same rule as in the settings file."""
    return _checked(lambda text: read_text(SETTINGS[key].rule, text))


def number(text: str) -> int:
    """Reader for the number of a message, with or without its sign."""
    if found := log_number(text):
        return found
    raise argparse.ArgumentTypeError(f"{text:.40}; allowed: the number of a message, such as 12 or #12")


def _checked(read: Callable[[str], object]) -> Callable[[str], object]:
    """A reader of a flag: what a rule refuses is said with what it allows."""

    def checked(text: str) -> object:
        try:
            return read(text)
        except Refused as refused:
            raise argparse.ArgumentTypeError(f"{refused.shown}; allowed: {refused.allowed}") from None

    return checked


def _guard(text: str) -> str:
    from tui_app.conversation.guards import parse_guard

    return parse_guard(text).text


def _tool(text: str) -> tuple[str, str]:
    name, _, state = text.rpartition("=")
    if not name.strip() or state not in ("on", "off"):
        raise Refused(show(text), "NAME=off or NAME=on")
    return name.strip(), state


SESSION = option("id", "ID", "id of the session, or its beginning")
FOLDER = option("path", "PATH", "folder to work in (default: the current one)", nargs="?")
CWD = option("--cwd", "DIR", "folder to work in (default: the current one)")
SOURCES = option("sources", "FILE|ID", "transcript, id of a session, or demo", nargs="+")
JSON = flag("--json", "print JSON and nothing else on stdout")
PLAIN = flag("--plain", "ASCII only, no motion; for screen readers", default=None)
MODEL = option("--model", "M", f"model, such as openai:gpt-5 or {OFFLINE_MODEL}", type=setting("model"))
WINDOW = option("--window", "N", "context window in tokens, overriding what is known", type=setting("window"))
POLICY = option(
    "--policy",
    "P",
    f"policy: {', '.join(POLICIES)}, or your own from the settings file",
    type=setting("policy"),
)
EFFORT = option("--effort", "E", f"reasoning effort: {', '.join(EFFORTS)}", type=setting("thinking"))
_MODES = ", ".join(f"{mode} ({about[0].lower()}{about[1:]})" for mode, about in ABOUT.items())
MODE = option("--mode", "NAME", f"what tools may do without asking: {_MODES}", type=setting("mode"))
AGENT = option(
    "--agent", "M:A", "your own pydantic-ai agent as module:attribute or file.py:attribute", default=""
)
READ_ONLY = flag("--read-only", "read-only: nothing is written, run or fetched", default=None)
TRUST = flag(
    "--trust", "trust the folder for this run: use its instructions, skills, commands and allow rules"
)
FOLDERS = repeated(
    "--add-dir", "DIR", "an additional folder tools and commands may read and write; may be repeated"
)
WORKTREE = option(
    "--worktree",
    "NAME",
    "work apart, in a git worktree of that name beside the repository; it is made if there is none",
    nargs="?",
    const="",
)
LATEST = flag(
    "--continue", "continue the last session of this folder, or the last one anywhere", dest="latest"
)
ALLOW = repeated(
    "--allow",
    "RULE",
    f'what tools may do, such as "{RUN_COMMAND.name} pytest -q" or "{WRITE_FILE.name} docs/**"; '
    "may be repeated",
    type=_checked(lambda text: parse_rule("allow", text, "command line").text),
)
GUARD = repeated(
    "--guard",
    "GUARD",
    'what no call may do, such as "edits legacy/", "command git push", "writes" or "tests" (to end '
    "without them); may be repeated, and holds in the session from now on",
    type=_checked(_guard),
)
TOOL = repeated(
    "--tool",
    "SWITCH",
    "switch a tool off with NAME=off or on with NAME=on; may be repeated, and holds from now on",
    type=_checked(_tool),
)
