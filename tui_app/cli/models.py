"""``plimsoll models``: what there is to choose from; ``plimsoll keys``: the API keys that models need."""

import argparse
import getpass
import sys
from dataclasses import asdict

from tui_app.api_keys import ApiKeys, KeyringTrouble, key_flaw
from tui_app.cli.command import OK, Command, CommandFailed, Program, WrongUsage, add_json, run_until_signal
from tui_app.cli.output import ProgressLine, print_json, say, say_table, tell
from tui_app.providers import key_variables, providers_of
from tui_app.ui.text import window_text


def configure_models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every known model, not just a few per vendor")
    add_json(parser)


def print_models(program: Program, args: argparse.Namespace) -> int:
    settings = program.settings()
    # The list of names comes with pydantic-ai, which takes a second to load.
    from tui_app.agent.catalog import list_models

    keys = program.keys.readable()

    async def show() -> int:
        with ProgressLine("Asking model servers what they serve"):
            choices = await list_models(env=keys, endpoints=settings.endpoints, everything=args.all)
        if args.json:
            print_json({"models": [asdict(choice) for choice in choices]})
        else:
            rows = [
                (each.name, window_text(each.window) if each.window else "?", each.price, each.why_not)
                for each in choices
            ]
            say_table([("MODEL", "WINDOW", "PRICE PER MILLION", ""), *rows], right=(1,))
        return OK

    return run_until_signal(show())


_NO_ARGUMENT = (
    "A key is never an argument: other programs could see it. "
    "Run `plimsoll keys set NAME` and type it, or pipe it in."
)
_LONGEST = 10_000
"""Characters; nothing longer is a key."""


def configure_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "set", "unset"),
        default="list",
        help="list: names and where each comes from (default); "
        "set: keep one in the system keyring, typed in or from stdin; unset: remove it",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="its variable, such as OPENAI_API_KEY")
    # Taken so that argparse does not print back what may be a key.
    parser.add_argument("surplus", nargs="*", help=argparse.SUPPRESS)
    add_json(parser)


def change_keys(program: Program, args: argparse.Namespace) -> int:
    if args.surplus:
        raise WrongUsage(_NO_ARGUMENT)
    named = args.name is not None
    if named != (args.action != "list"):
        raise WrongUsage(f"Usage: plimsoll keys {args.action}{'' if named else ' NAME'}")
    known = known_names(program)
    if named and args.name not in known | program.keys.held:
        # What was typed is not repeated: it may be a key.
        raise WrongUsage(
            "No provider's key has that name; docs/api-keys.md lists the names. "
            "Your own server names its key in key_env."
        )
    match args.action:
        case "set":
            return store_key(program.keys, args.name, as_json=args.json)
        case "unset":
            return erase_key(program.keys, args.name, as_json=args.json)
        case _:
            return list_keys(program.keys, known, as_json=args.json)


def known_names(program: Program) -> frozenset[str]:
    """Names of the keys that a provider, or a server in the settings, asks for."""
    own = (endpoint.key_env for endpoint in program.settings().endpoints.values())
    return key_variables() | {name for name in own if name}


def list_keys(keys: ApiKeys, known: frozenset[str], *, as_json: bool) -> int:
    """Print names and where each comes from; the keyring is not asked."""
    found = [(name, keys.source(name)) for name in sorted(known | keys.held)]
    present = [(name, source) for name, source in found if source]
    if as_json:
        rows = [
            {"name": name, "source": source, "providers": list(providers_of(name))}
            for name, source in present
        ]
        print_json({"keys": rows})
    elif present:
        rows_ = [(name, source, ", ".join(providers_of(name))) for name, source in present]
        say_table([("NAME", "FROM", "FOR"), *rows_])
    else:
        say("There are no keys. Keep one in the system keyring with: plimsoll keys set OPENAI_API_KEY")
    return OK


def store_key(keys: ApiKeys, name: str, *, as_json: bool) -> int:
    key = read_key(name)
    try:
        keys.store(name, key)
    except KeyringTrouble as trouble:
        raise CommandFailed(str(trouble)) from None
    if as_json:
        print_json({"name": name, "source": keys.source(name)})
        return OK
    say(f"{name} is in the system keyring.")
    if keys.source(name) == "environment":
        tell(f"{name} is also set in the environment, which overrides the keyring.")
    return OK


def erase_key(keys: ApiKeys, name: str, *, as_json: bool) -> int:
    try:
        gone = keys.erase(name)
    except KeyringTrouble as trouble:
        raise CommandFailed(str(trouble)) from None
    if not gone:
        raise CommandFailed(f"Plimsoll has put no {name} into the system keyring.")
    if as_json:
        print_json({"name": name, "source": keys.source(name)})
    else:
        say(f"{name} is no longer in the system keyring.")
    return OK


def read_key(name: str) -> str:
    """A key from a prompt that does not show it, or from stdin where that is no terminal.

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


COMMANDS = (
    Command(
        name="models",
        usage="",
        summary="List the models that can be used here.",
        configure=configure_models,
        execute=print_models,
    ),
    Command(
        name="keys",
        usage="[list | set NAME | unset NAME]",
        summary="List API keys, or keep one in the system keyring.",
        configure=configure_keys,
        execute=change_keys,
    ),
)
