"""What ``plimsoll doctor`` looks at. Nothing is written, and only this machine is asked."""

import asyncio
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from tui_app.agent.catalog import why_unavailable
from tui_app.agent.models import KEYS, LocalServer, build_model, discover
from tui_app.cli.command import Program
from tui_app.cli.doctor.data import check_database, check_folders, check_log, check_tokenizer
from tui_app.cli.doctor.report import Check, fail, ok, warn
from tui_app.cli.doctor.server import check_server
from tui_app.cli.doctor.terminal import check_encoding, check_terminal, check_tmux
from tui_app.session.location import Server
from tui_app.settings import Endpoint, Settings, SettingsError, WrongFile, resolve_model
from tui_app.settings.approvals import rules_of
from tui_app.settings.spec import UNLESS_YOURS, misnamed
from tui_app.ui.format import count
from tui_app.version import __version__

_PACKAGES = ("textual", "pydantic-ai-slim", "tiktoken", "platformdirs")
_OTHER_MODEL = (
    "Set what it needs, or choose another with --model or in the settings; plimsoll models lists them."
)
_REINSTALL = "Install Plimsoll again, into an environment of its own."


def run_checks(program: Program) -> list[Check]:
    """Look at everything, in the order a person would."""
    servers = asyncio.run(discover())
    return [
        ok("plimsoll", __version__),
        check_python(),
        check_packages(),
        check_terminal(program.env),
        check_encoding(program.env),
        check_tmux(program.env),
        check_folders(program.paths),
        *check_settings(program, servers),
        check_sessions(program),
        check_tokenizer(),
        check_servers(servers),
        check_log(program.paths.log_file),
    ]


def check_sessions(program: Program) -> Check:
    """The sessions, in this machine's file or on a server."""
    try:
        database = program.database
    except SettingsError as error:
        return fail("sessions", str(error), "Correct it; until then nobody knows where the sessions are.")
    return check_server(database) if isinstance(database, Server) else check_database(database)


def check_python() -> Check:
    """The interpreter and its SQLite."""
    return ok(
        "python", f"{platform.python_version()} on {platform.system()}, SQLite {sqlite3.sqlite_version}"
    )


def check_packages() -> Check:
    """The libraries that everything is built on."""
    found: list[str] = []
    missing: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", _REINSTALL)
    return ok("packages", ", ".join(found))


def check_settings(program: Program, servers: Sequence[LocalServer]) -> list[Check]:
    """The settings, and what they say about models."""
    try:
        settings = program.settings()
    except SettingsError as error:
        found = [error, *(error.others if isinstance(error, WrongFile) else ())]
        how = f"Correct it; the file is {program.paths.config_file}"
        return [fail("settings", str(each), how) for each in found]
    keys, exists = program.keys.readable(), program.paths.config_file.exists()
    where = str(program.paths.config_file) if exists else f"none in {program.paths.config_file}, all built in"
    return [
        ok("settings", where),
        *check_rules(settings),
        check_keys(keys, settings.endpoints, local=bool(servers)),
        *check_models(settings, keys),
    ]


def check_rules(settings: Settings) -> list[Check]:
    """Rules about tools that nothing here can have; nothing is said of no rules."""
    rules = rules_of(settings.approvals)
    wrong = [(rule, said) for rule in rules if (said := misnamed(rule, settings.mcp))]
    if not wrong:
        return [ok("approvals", count(len(rules), "rule"))] if rules else []
    return [warn("approvals", f"{rule.ruling} {rule.text}: {said}", UNLESS_YOURS) for rule, said in wrong]


def check_keys(env: Mapping[str, str], endpoints: Mapping[str, Endpoint], *, local: bool = False) -> Check:
    """Names of the keys that are there, never the keys.

    Args:
        env: Where they are looked up.
        endpoints: The user's own servers.
        local: Whether a server on this machine makes up for missing keys.
    """
    own = {endpoint.key_env for endpoint in endpoints.values() if endpoint.key_env}
    usual = {name for names in KEYS.values() for name in names}
    present = sorted(name for name in own | usual if env.get(name, "").strip())
    if absent := sorted(own - set(present)):
        return warn(
            "keys", f"missing: {', '.join(absent)}", "The endpoints in the settings name these variables."
        )
    if not present and not local and not endpoints:
        hint = "Set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start a local server such as Ollama."
        return warn("keys", "none: only offline:extractive can answer", hint)
    return ok("keys", ", ".join(present) or "none")


def check_models(settings: Settings, env: Mapping[str, str]) -> list[Check]:
    """Whether the models that the settings choose can be used; none of them is asked anything."""
    checks = [_check_model("model", "new sessions", resolve_model(settings, env), settings, env)]
    if name := settings.summarization_model:
        checks.append(_check_model("summaries", "automatic summaries", name, settings, env))
    return checks


def _check_model(check: str, user: str, model: str, settings: Settings, env: Mapping[str, str]) -> Check:
    try:
        build_model(model, env=env, endpoints=settings.endpoints)
    except Exception as error:  # an SDK may raise anything; here it is what was looked for
        reason = why_unavailable(error, model=model).message
        named = reason if model in reason else f"{model}: {reason}"
        return warn(check, f"for {user}: {named}", _OTHER_MODEL)
    return ok(check, f"{user} use {model}")


def check_servers(servers: Sequence[LocalServer]) -> Check:
    """Model servers on this machine."""
    listed = [f"{server.name} ({len(server.models)} models)" for server in servers]
    return ok("servers", ", ".join(listed) or "none on this machine's usual ports")
