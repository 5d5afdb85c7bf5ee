"""``plimsoll doctor``: checks of everything that Plimsoll needs.

Checks write nothing, and access only this machine.
"""

import argparse
import asyncio
import hashlib
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program
from tui_app.cli.core.output import print_json, say
from tui_app.context.storage_errors import StorageError
from tui_app.paths import Paths
from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL, PROVIDERS, required_keys
from tui_app.records import frozen
from tui_app.sandbox import INSTALL, find_sandbox
from tui_app.session.damage import examine
from tui_app.session.stores.database import log_exists, open_store
from tui_app.settings import Endpoint, Settings, SettingsError, WrongFile, resolve_model
from tui_app.settings.spec import SessionServer
from tui_app.settings.tables import UNLESS_YOURS, misnamed, rules_of
from tui_app.system.environment import for_programs
from tui_app.ui.words.text import count, one_line
from tui_app.version import __version__

if TYPE_CHECKING:
    from tui_app.agent.model_lists import LocalServer


def execute(program: Program, args: argparse.Namespace) -> int:
    """Run every check; the command fails if one of them does."""
    if args.repair:
        from tui_app.cli.setup.repair import repair

        if trouble := sessions_folder_trouble(program.paths):
            what = f"{trouble[0][:1].upper()}{trouble[0][1:]}"
            raise CommandFailed(f"{what}. {trouble[1]} Nothing was changed.")
        return repair(program, as_json=args.json)
    checks = run_checks(program)
    failed = any(check.state == "fail" for check in checks)
    if args.json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            say(f"{check.state:<4}  {check.name:<{width}}  {check.text}")
            if check.hint:
                say(f"{'':<4}  {'':<{width}}  {check.hint}")
    return FAILED if failed else OK


State = Literal["ok", "warn", "fail"]


@frozen
class Check:
    """The result of one check."""

    name: str
    state: State
    """``warn``: something is missing or could be better; ``fail``: Plimsoll cannot work like this."""
    text: str
    hint: str = ""
    """What to do about it; empty if there is nothing to do."""


_CELLS = 200
"""Cells of a damage report that are shown."""
_ROOM = 1 << 20
"""Bytes; a disk with less free space counts as full."""
_SUMS = "SHA256SUMS"


def check_folders(paths: Paths) -> Check:
    """Check whether the folders are writable. Missing ones are not created; their parents are checked."""
    refused: list[Path] = []
    for folder in (paths.config, paths.data, paths.state, paths.cache):
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            refused.append(folder)
    if refused:
        hint = "Give yourself write access, or set PLIMSOLL_HOME to your own folder."
        return Check("folders", "fail", f"cannot write {', '.join(map(str, refused))}", hint)
    if trouble := sessions_folder_trouble(paths):
        return Check("folders", "fail", *trouble)
    if paths.data.exists() and shutil.disk_usage(paths.data).free < _ROOM:
        hint = "Free some space. Sessions can be read, exported to another disk, and deleted meanwhile."
        return Check("folders", "fail", f"the disk with {paths.data} is full", hint)
    return Check("folders", "ok", f"data in {paths.data}")


def sessions_folder_trouble(paths: Paths) -> tuple[str, str] | None:
    """Return what prevents writing session files, and what to do about it; None if nothing does."""
    folder = paths.sessions_dir
    if folder.is_dir():
        if os.access(folder, os.W_OK | os.X_OK):
            return None
        return f"cannot write {folder}, where session files go", "Give yourself write access."
    if folder.is_symlink():
        return (
            f"{folder} is a link to a missing folder, and session files go there",
            f"Bring back {folder.readlink()}, or remove the link.",
        )
    if folder.exists():
        return (
            f"{folder} is not a folder, and session files go into a folder of this name",
            "Move it away, then: plimsoll doctor --repair. It rewrites the missing files.",
        )
    return None


def check_database(path: Path, sessions_dir: Path) -> Check:
    """Check whether the sessions file is undamaged: every row of it is read."""
    name = "sessions"
    hint = "Close every session, then: plimsoll doctor --repair. It keeps the damaged file."
    try:
        health = examine(path, sessions_dir)
        if health.missing:
            return Check(
                name, "fail", health.missing, "Put a copy in its place, or: plimsoll doctor --repair."
            )
        if health.damage:
            more = len(health.damage) - 1
            also = f", and {count(more, 'more place')}" if more else ""
            return Check(name, "fail", f"damaged: {one_line(health.damage[0], _CELLS)}{also}", hint)
        if not log_exists(path):
            return Check(name, "ok", "none yet")
        with closing(open_store(path, read_only=True)) as store:
            known = len(store.sessions(hidden=True))
    except StorageError as error:
        return Check(name, "fail", error.message, error.hint)
    except sqlite3.Error as error:
        return Check(name, "fail", f"cannot be read: {error}", "Nothing was changed.")
    if health.unlisted:
        return Check(name, "warn", f"not in the list: {', '.join(health.unlisted)}", hint)
    if health.stale_index:
        return Check(name, "warn", f"the word index does not match the log: {health.stale_index}", hint)
    if health.stale:
        return Check(
            name, "warn", f"the data derived from the log does not match it: {', '.join(health.stale)}", hint
        )
    return Check(name, "ok", f"{known:,} in {path} ({path.stat().st_size / 1_000_000:.1f} MB)")


def check_tokenizer() -> Check:
    """Check whether the included token ranks are the published ones."""
    data = resources.files("tui_app.context.data")
    try:
        sums = [line.split() for line in data.joinpath(_SUMS).read_text("ascii").splitlines()]
        digests = {name: hashlib.sha256(data.joinpath(name).read_bytes()).hexdigest() for _, name in sums}
    except (OSError, ValueError) as error:
        return Check("tokenizer", "fail", f"token ranks are missing: {error}", "Install Plimsoll again.")
    wrong = [name for digest, name in sums if digests[name] != digest]
    if wrong or not sums:
        return Check("tokenizer", "fail", f"damaged: {', '.join(wrong) or _SUMS}", "Install Plimsoll again.")
    return Check("tokenizer", "ok", ", ".join(name.removesuffix(".tiktoken") for _, name in sums))


def check_log(path: Path) -> Check:
    size = path.stat().st_size if path.exists() else 0
    return Check("log", "ok", f"{path} ({size:,} bytes)" if size else "empty")


def check_server(server: SessionServer) -> Check:
    """Check whether the server can be used, and what is there; nothing is changed."""
    name = "sessions"
    try:
        if not log_exists(server):
            return Check(name, "ok", f"none yet on {server.shown}")
        with closing(open_store(server, read_only=True)) as store:
            known = len(store.sessions(hidden=True))
    except StorageError as error:
        return Check(name, "fail", error.message, error.hint)
    return Check(name, "ok", f"{known:,} on {server.shown}")


_MIN_COLUMNS, _MIN_LINES = 40, 12
"""With less, only a request for more room can be shown."""


def check_terminal(env: Mapping[str, str]) -> Check:
    name, kind = "terminal", env.get("TERM", "")
    if not sys.stdout.isatty():
        return Check(name, "ok", "output does not go to a terminal: its size is not checked")
    columns, lines = shutil.get_terminal_size()
    text = f"{kind or 'TERM is not set'}, {columns} columns, {lines} lines"
    if kind in ("", "dumb", "unknown"):
        return Check(name, "warn", text, "Set TERM to your terminal type, for example xterm-256color.")
    if columns < _MIN_COLUMNS or lines < _MIN_LINES:
        return Check(name, "warn", text, f"Make it at least {_MIN_COLUMNS} columns by {_MIN_LINES} lines.")
    return Check(name, "ok", text)


def check_encoding(env: Mapping[str, str]) -> Check:
    """Check whether text beyond ASCII can be printed."""
    encoding = (sys.stdout.encoding or "unknown").lower()
    if encoding.replace("-", "").startswith("utf8"):
        return Check("encoding", "ok", encoding)
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "no locale"
    return Check("encoding", "warn", f"{encoding} ({locale})", "Set LANG=C.UTF-8, or start with --plain.")


def check_tmux(env: Mapping[str, str]) -> Check:
    """Check whether tmux passes keys on as it should; fine without tmux."""
    if not env.get("TMUX"):
        return Check("tmux", "ok", "not used")
    # Imported here: it loads Textual.
    from tui_app.ui.terminal_input import tmux_option

    keys, delay = tmux_option("extended-keys"), tmux_option("escape-time")
    hints = []
    if keys == "off":
        hints.append("set -s extended-keys on (for keys such as ctrl+enter)")
    if delay.isdigit() and int(delay) > 50:
        hints.append("set -s escape-time 10 (escape arrives late otherwise)")
    text = f"extended-keys {keys or 'unknown'}, escape-time {delay or 'unknown'}"
    return (
        Check("tmux", "warn", text, f"In tmux.conf: {'; '.join(hints)}.")
        if hints
        else Check("tmux", "ok", text)
    )


_PACKAGES = ("textual", "pydantic-ai-slim", "tiktoken", "platformdirs")
_OTHER_MODEL = (
    "Set what it needs, or choose another with --model or in the settings; plimsoll models lists them."
)
_REINSTALL = "Reinstall Plimsoll in an environment of its own."


def run_checks(program: Program) -> list[Check]:
    """Run all checks, from the program outwards."""
    # Imported here: some of the packages take long to load.
    from tui_app.agent.model_lists import discover

    servers = asyncio.run(discover())
    return [
        Check("plimsoll", "ok", __version__),
        check_python(),
        check_packages(),
        check_terminal(program.env),
        check_encoding(program.env),
        check_tmux(program.env),
        check_folders(program.paths),
        check_sandbox(),
        *check_settings(program, servers),
        check_sessions(program),
        check_tokenizer(),
        check_servers(servers),
        check_log(program.paths.log_file),
    ]


def check_sessions(program: Program) -> Check:
    try:
        database = program.database
    except SettingsError as error:
        return Check("sessions", "fail", str(error), "Fix it; until then Plimsoll cannot find the sessions.")
    if isinstance(database, SessionServer):
        return check_server(database)
    return check_database(database, program.paths.sessions_dir)


def check_python() -> Check:
    return Check(
        "python", "ok", f"{platform.python_version()} on {platform.system()}, SQLite {sqlite3.sqlite_version}"
    )


def check_sandbox() -> Check:
    """Check whether commands of the model can run in a sandbox."""
    found = find_sandbox()
    match found.kind:
        case "bubblewrap":
            return Check("sandbox", "ok", "commands run inside bubblewrap")
        case "seatbelt":
            return Check("sandbox", "ok", "commands run inside sandbox-exec, which is untested")
        case "landlock":
            text = f"commands can read everything and write in VCS folders; {found.why}"
            return Check("sandbox", "warn", text, f"{INSTALL}.")
        case "none":
            hint = f"{INSTALL}." if sys.platform == "linux" else "There is none for this system."
            return Check("sandbox", "warn", f"commands run without a sandbox; {found.why}", hint)


def check_packages() -> Check:
    found: list[str] = []
    missing: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check("packages", "fail", f"missing: {', '.join(missing)}", _REINSTALL)
    return Check("packages", "ok", ", ".join(found))


def check_settings(program: Program, servers: "Sequence[LocalServer]") -> list[Check]:
    """Check the settings, and the rules, keys and models in them."""
    try:
        settings = program.settings()
    except SettingsError as error:
        found = [error, *(error.others if isinstance(error, WrongFile) else ())]
        how = f"Fix it; the file is {program.paths.config_file}"
        return [Check("settings", "fail", str(each), how) for each in found]
    keys, exists = program.keys.readable(), program.paths.config_file.exists()
    where = str(program.paths.config_file) if exists else f"none in {program.paths.config_file}, all built in"
    return [
        Check("settings", "ok", where),
        *check_rules(settings),
        check_keys(keys, settings.endpoints, local=bool(servers)),
        check_variables(program.env, settings.pass_variables),
        *check_models(settings, keys),
    ]


def check_rules(settings: Settings) -> list[Check]:
    """Check the rules for tools that do not exist here; without rules there is no result."""
    rules = rules_of(settings.approvals)
    wrong = [(rule, flaw) for rule in rules if (flaw := misnamed(rule, settings.mcp))]
    if not wrong:
        return [Check("approvals", "ok", count(len(rules), "rule"))] if rules else []
    return [
        Check("approvals", "warn", f"{rule.ruling} {rule.text}: {flaw}", UNLESS_YOURS) for rule, flaw in wrong
    ]


def check_keys(env: Mapping[str, str], endpoints: Mapping[str, Endpoint], *, local: bool = False) -> Check:
    """Report the names of the existing keys, never the keys.

    Args:
        env: Where keys are looked up.
        endpoints: The user's own servers.
        local: Whether a server on this machine makes keys unnecessary.
    """
    own = {endpoint.key_env for endpoint in endpoints.values() if endpoint.key_env}
    usual = {key for prefix in PROVIDERS for key in required_keys(prefix)}
    present = sorted(name for name in own | usual if env.get(name, "").strip())
    if absent := sorted(own - set(present)):
        return Check(
            "keys",
            "warn",
            f"missing: {', '.join(absent)}",
            "The endpoints in the settings name these variables.",
        )
    if not present and not local and not endpoints:
        hint = f"Set {' or '.join(key for key, _ in MODELS_BY_KEY)}, or start a local server such as Ollama."
        return Check("keys", "warn", f"none: only {OFFLINE_MODEL} can answer", hint)
    return Check("keys", "ok", ", ".join(present) or "none")


def check_variables(env: Mapping[str, str], passed: str) -> Check:
    """Report the names of the variables that commands do not get."""
    rest = sorted(env.keys() - for_programs(env, passed=passed.split(",")).keys())
    names = f"; held back: {', '.join(rest[:12])}{' …' if rest[12:] else ''} (pass_variables)" if rest else ""
    return Check("variables", "ok", f"commands get {len(env) - len(rest)} of {len(env)}{names}")


def check_models(settings: Settings, env: Mapping[str, str]) -> list[Check]:
    """Check whether the models in the settings can be used; no request is sent."""
    checks = [_check_model("model", "new sessions", resolve_model(settings, env), settings, env)]
    if name := settings.summarization_model:
        checks.append(_check_model("summaries", "automatic summaries", name, settings, env))
    return checks


def _check_model(check: str, user: str, model: str, settings: Settings, env: Mapping[str, str]) -> Check:
    from tui_app.agent.model_shelf import why_unavailable
    from tui_app.agent.models import build_model

    try:
        build_model(model, env=env, endpoints=settings.endpoints)
    except Exception as error:  # an SDK may raise anything; here it is the result
        reason = why_unavailable(error, model=model).message
        named = reason if model in reason else f"{model}: {reason}"
        return Check(check, "warn", f"for {user}: {named}", _OTHER_MODEL)
    return Check(check, "ok", f"{user} use {model}")


def check_servers(servers: "Sequence[LocalServer]") -> Check:
    listed = [f"{server.name} ({len(server.models)} models)" for server in servers]
    return Check("servers", "ok", ", ".join(listed) or "none on this machine's usual ports")
