"""``plimsoll config``: where the settings are and what is in force."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict

from tui_app.cli.command import Command, Program, add_json
from tui_app.cli.exits import OK
from tui_app.cli.output import print_json, say, say_table
from tui_app.settings import Settings, resolve_model


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("path", "show"),
        default="show",
        help="path: where the files are; show: all settings in force (default)",
    )
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Do what the action says."""
    return (
        show_paths(program, as_json=args.json) if args.action == "path" else show_settings(program, args.json)
    )


def show_paths(program: Program, *, as_json: bool) -> int:
    """Print the path of the settings file; as JSON also the other folders."""
    paths = program.paths
    if as_json:
        places = {
            "config_file": paths.config_file,
            "config": paths.config,
            "data": paths.data,
            "state": paths.state,
            "cache": paths.cache,
            "database": paths.database,
            "sessions": paths.sessions_dir,
            "log_file": paths.log_file,
        }
        print_json({name: str(path) for name, path in places.items()})
    else:
        say(str(paths.config_file))
    return OK


def show_settings(program: Program, as_json: bool) -> int:
    """Print every setting as it is in force: file, then environment, then what is built in."""
    settings = program.settings()
    values = settings_json(settings)
    if as_json:
        print_json({**values, "model_in_use": resolve_model(settings, program.env)})
        return OK
    say_table([(name, "=", _written(value)) for name, value in values.items()])
    if not settings.model:
        say(f"# no model is set; new sessions use {resolve_model(settings, program.env)}")
    return OK


def settings_json(settings: Settings) -> dict[str, object]:
    """The settings as plain values. They hold no keys, only names of variables that do, and commands."""
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in _fields(settings)}
    plain["endpoints"] = {name: asdict(endpoint) for name, endpoint in settings.endpoints.items()}
    plain["hooks"] = {event: [hook.to_json() for hook in hooks] for event, hooks in settings.hooks.items()}
    return plain


def _fields(settings: Settings) -> list[tuple[str, object]]:
    return [(name, getattr(settings, name)) for name in settings.__dataclass_fields__]


def _written(value: object) -> str:
    return "(not set)" if value in (None, "") else json.dumps(value, ensure_ascii=False)


COMMAND = Command(
    name="config",
    usage="[path | show]",
    summary="Show where the settings are and what is in force.",
    configure=configure,
    execute=execute,
)
