"""``plimsoll config``: show and change settings; ``plimsoll trust``."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tui_app.api_keys import stored_names
from tui_app.cli.core.command import Program, WrongUsage
from tui_app.cli.core.output import answer, tell
from tui_app.settings import Settings, resolve_model
from tui_app.settings.edit import RefusedChange, SettingsFile, StillWrong
from tui_app.settings.sources import Origin
from tui_app.settings.spec import SETTINGS, shown_store
from tui_app.settings.tables import UNLESS_YOURS, misnamed, rules_of
from tui_app.system.trust import answers, remember_trust
from tui_app.ui.words.text import one_line, table_lines


def change(program: Program, args: argparse.Namespace) -> None:
    """Set a setting in the file, or remove it. Nothing invalid is written.

    Raises:
        WrongUsage: if key or value is wrong, alone or with the other settings.
        SettingsError: if the other settings are wrong, or the file is not TOML.
    """
    key, value = args.key, args.value
    file = SettingsFile(program.paths, program.env)
    try:
        settings = file.unset(key) if value is None else file.set(key, value)
    except StillWrong:
        tell(f"{key} is no longer in {program.paths.config_file}, which still has errors.")
        raise
    except RefusedChange as refused:
        where = program.paths.config_file
        why = str(refused).removeprefix(f"{where}: ")
        raise WrongUsage(f"{why} Nothing was written to {where}.") from None
    setting = key.split(".", 1)[0]
    source = file.origin(key) if setting in SETTINGS else Origin()
    answer(
        {
            "key": key,
            "file": str(program.paths.config_file),
            "from": source.kind,
            "in_force": settings_json(settings).get(setting),
        },
        f"{key} is {'no longer in' if value is None else 'set in'} {program.paths.config_file}",
        as_json=args.json,
    )
    if source.is_forced and not args.json:
        tell(f"{source.name} overrides the file: the change takes effect once that is removed.")
    if setting == "approvals":
        # Rules may name tools that do not exist here.
        for rule in rules_of(settings.approvals):
            if flaw := misnamed(rule, settings.mcp):
                tell(f"{rule.ruling} {rule.text}: {flaw} {UNLESS_YOURS}")


def show_paths(program: Program, args: argparse.Namespace) -> None:
    """Print the path of the settings file; as JSON also the other folders."""
    paths, database = program.paths, program.database
    places = {
        **{name: getattr(paths, name) for name in ("config_file", "config", "data", "state", "cache")},
        "database": database if isinstance(database, Path) else database.shown,
        "sessions": paths.sessions_dir,
        "log_file": paths.log_file,
    }
    answer({name: str(path) for name, path in places.items()}, str(paths.config_file), as_json=args.json)


def show_settings(program: Program, args: argparse.Namespace) -> None:
    settings = program.settings()
    values = settings_json(settings)
    in_use = resolve_model(settings, program.env, stored_names(program.paths))
    rows = [
        (name, "=", "(not set)" if value in (None, "") else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
    ]
    more = [] if settings.model else [f"# no model is set; new sessions use {in_use}"]
    answer({**values, "model_in_use": in_use}, *table_lines(rows), *more, as_json=args.json)


def settings_json(settings: Settings) -> dict[str, object]:
    """Return the settings as plain values: no keys, only names of variables and commands for them."""
    plain: dict[str, object] = {}
    for name in SETTINGS:
        value = getattr(settings, name)
        plain[name] = dict(value) if isinstance(value, Mapping) else value
    plain["store"] = shown_store(settings.store)
    plain["endpoints"] = {name: asdict(endpoint) for name, endpoint in settings.endpoints.items()}
    plain["hooks"] = {event: [hook.to_json() for hook in hooks] for event, hooks in settings.hooks.items()}
    return plain


def answer_trust(program: Program, args: argparse.Namespace) -> None:
    """Record whether a folder is trusted, or list the answers."""
    if args.list:
        known = answers(program.paths)
        rows = [("yes" if trusted else "no", one_line(root, 200)) for root, trusted in known.items()]
        answer(known, *table_lines(rows), as_json=args.json)
        return
    trusted = None if args.forget else not args.no
    program.paths.ensure()
    root = remember_trust(program.paths, program.folder(args.path), trusted)
    what = {True: "is trusted", False: "is not trusted", None: "will be asked about again"}[trusted]
    line = f"{one_line(str(root), 200)} {what}."
    answer({"folder": str(root), "trusted": trusted}, line, as_json=args.json)
