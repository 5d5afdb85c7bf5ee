"""``plimsoll models``: list the available models; ``plimsoll keys``: manage their API keys."""

import argparse
import getpass
import sys
from dataclasses import asdict

from tui_app.api_keys import key_flaw
from tui_app.cli.core.command import OK, CommandFailed, Program, WrongUsage
from tui_app.cli.core.output import answer, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.providers import key_variables, providers_of
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.text import table_lines


def print_models(program: Program, args: argparse.Namespace) -> int:
    settings = program.settings()
    # Imported here: the list of names needs pydantic-ai, which takes a second to load.
    from tui_app.agent.catalog import list_models

    keys = program.keys.readable()

    async def show() -> int:
        with ProgressLine("Asking model servers what they serve"):
            choices = await list_models(env=keys, endpoints=settings.endpoints, everything=args.all)
        rows = [
            (each.name, window_text(each.window) if each.window else "?", each.price, each.why_not)
            for each in choices
        ]
        table = table_lines([("MODEL", "WINDOW", "PRICE PER MILLION", ""), *rows], right=(1,))
        answer({"models": [asdict(choice) for choice in choices]}, *table, as_json=args.json)
        return OK

    return run_until_signal(show())


_NO_ARGUMENT = (
    "A key is never an argument: other programs could see it. "
    "Run `plimsoll keys set NAME` and type it, or pipe it in."
)
_LONGEST = 10_000
"""Maximum characters of a key."""


def known_names(program: Program) -> frozenset[str]:
    """Return the names of the keys that a provider, or a server in the settings, needs."""
    own = (endpoint.key_env for endpoint in program.settings().endpoints.values())
    return key_variables() | {name for name in own if name}


def list_keys(program: Program, args: argparse.Namespace) -> None:
    """Print names and sources of keys, without reading the keyring."""
    keys = program.keys
    found = [(name, keys.source(name)) for name in sorted(known_names(program) | keys.stored)]
    rows = [(name, source, providers_of(name)) for name, source in found if source]
    named = [(name, source, ", ".join(providers)) for name, source, providers in rows]
    none = ["There are no keys. Keep one in the system keyring with: plimsoll keys set OPENAI_API_KEY"]
    answer(
        {"keys": [dict(zip(("name", "source", "providers"), row, strict=True)) for row in rows]},
        *(table_lines([("NAME", "FROM", "FOR"), *named]) if rows else none),
        as_json=args.json,
    )


def store_key(program: Program, args: argparse.Namespace) -> None:
    name = _named(program, args)
    keys, key = program.keys, read_key(name)
    keys.store(name, key)
    source = keys.source(name)
    answer({"name": name, "source": source}, f"{name} is in the system keyring.", as_json=args.json)
    if source == "environment" and not args.json:
        tell(f"{name} is also set in the environment, which overrides the keyring.")


def erase_key(program: Program, args: argparse.Namespace) -> None:
    keys, name = program.keys, _named(program, args)
    if not keys.erase(name):
        raise CommandFailed(f"Plimsoll has put no {name} into the system keyring.")
    line = f"{name} is no longer in the system keyring."
    answer({"name": name, "source": keys.source(name)}, line, as_json=args.json)


def read_key(name: str) -> str:
    """Read a key from a hidden prompt, or from stdin if that is no terminal.

    Raises:
        WrongUsage: if there is none, or it cannot be one.
    """
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            text = getpass.getpass(f"{name}: ")
        else:
            text = sys.stdin.read(_LONGEST + 1) if sys.stdin is not None else ""
    except (EOFError, OSError, ValueError):
        text = ""
    key = text.strip()
    if not key:
        raise WrongUsage(f"No key was given for {name}; nothing changed.")
    if len(key) > _LONGEST or any(not character.isprintable() or character.isspace() for character in key):
        raise WrongUsage("That doesn't look like an API key (no spaces or line breaks). Nothing changed.")
    if flaw := key_flaw(key):
        raise WrongUsage(f"That doesn't look like an API key: {flaw}. Nothing changed.")
    return key


def _named(program: Program, args: argparse.Namespace) -> str:
    """Return the given name, if it is that of a key. An error does not repeat it, because it may be a key."""
    if args.surplus:
        raise WrongUsage(_NO_ARGUMENT)
    if args.name not in known_names(program) | program.keys.stored:
        raise WrongUsage(
            "No provider's key has that name; docs/api-keys.md lists the names. "
            "Your own server names its key in key_env."
        )
    return str(args.name)
