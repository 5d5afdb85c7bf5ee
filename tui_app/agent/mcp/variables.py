"""Environment variables for an MCP server's program: those it needs to run, and those the settings name."""

from collections.abc import Mapping

from tui_app.settings.tables import McpServer
from tui_app.system.trust import FOLDER_VARIABLE

NEEDED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", FOLDER_VARIABLE,
)  # fmt: skip
"""Variables that most programs need; none of them contains a key."""


class MissingVariable(Exception):
    """The settings name a variable that is not set. The message is a sentence."""


def program_environment(server: McpServer, env: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server's program.

    Args:
        server: Its settings.
        env: Our own environment.

    Raises:
        MissingVariable: if a named one is not set.
    """
    needed = {name: env[name] for name in NEEDED if name in env}
    named = {name: _value(value, env, server) for name, value in server.env.items()}
    return {**needed, **named, **server.given_env}


def header_values(server: McpServer, env: Mapping[str, str]) -> dict[str, str]:
    """The headers of a server's requests. Raises ``MissingVariable``."""
    named = {name: _value(f"${variable}", env, server) for name, variable in server.headers_env.items()}
    return {**named, **server.given_headers}


def secrets_of(server: McpServer, env: Mapping[str, str]) -> tuple[str, ...]:
    """Values to mask in everything that is shown."""
    named = [value[1:] for value in server.env.values() if value.startswith("$")]
    values = [env.get(name, "") for name in (*named, *server.headers_env.values())]
    own = [value for value in server.env.values() if not value.startswith("$")]
    own += [*server.given_env.values(), *server.given_headers.values()]
    return tuple(value for value in (*values, *own) if len(value) >= 8)


def _value(text: str, env: Mapping[str, str], server: McpServer) -> str:
    if not text.startswith("$"):
        return text
    name = text[1:]
    if not env.get(name):
        raise MissingVariable(f"The variable {name} is not set; the settings name it for mcp.{server.name}.")
    return env[name]
