"""What settings may say of MCP servers: programs and addresses that bring tools along.

They are read from the user's own settings file and nowhere else, for the same reason as hooks: they are
commands that run, and a project must not be able to name any.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tui_app.settings.rules import (
    Address,
    FileOnly,
    Flag,
    Group,
    Number,
    Refused,
    Table,
    Text,
    group_of,
    setting,
    show,
)

NAME = Text(r"[A-Za-z][A-Za-z0-9_-]{0,31}", "a letter, then up to 31 letters, digits, dashes or underscores")
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_OF_PROGRAMS, _OF_ADDRESSES = ("args", "env", "cwd"), ("headers_env",)


class _Words(NamedTuple):
    """A list of strings."""

    allowed: str

    def check(self, value: object) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(word, str) and "\0" not in word for word in value):
            return tuple(value)
        raise Refused(show(value), self.allowed)

    def read(self, text: str) -> tuple[str, ...]:
        return self.check(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """One server: a program that is spoken to over its pipes, or an address."""

    name: str
    command: str = setting("", Text(r"[^\0]*\S[^\0]*", "a program, such as npx or /usr/bin/python3"))
    args: tuple[str, ...] = setting((), _Words('a list such as ["-y", "some-server"]'))
    env: Mapping[str, str] = setting(
        {},
        Table(
            Text(r"[^\0]*", "a text, or $NAME for the value of a variable", secret_prone=True),
            Text(_VARIABLE, "the name of a variable"),
        ),
    )
    """Variables the program gets beside the few it needs; ``$NAME`` stands for one of Plimsoll's own."""
    cwd: str = setting("", Text(r"[^\0]*\S[^\0]*", "a folder"))
    """Empty is the folder of the session."""
    url: str = setting("", Address())
    """Address of a streamable HTTP server."""
    headers_env: Mapping[str, str] = setting(
        {},
        Table(
            Text(
                _VARIABLE,
                "the name of the environment variable that holds the value, not the value",
                secret_prone=True,
            ),
            Text(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "the name of a header"),
        ),
    )
    """Headers of its requests, each with the environment variable that holds its value."""
    enabled: bool = setting(True, Flag())
    tools: tuple[str, ...] | None = setting(None, _Words('a list of names such as ["search", "fetch"]'))
    """Names of its tools that may be used; None allows all."""
    timeout: float = setting(30.0, Number(0.1, 3_600.0, "seconds from 0.1 to 3600"))
    """Seconds it may take to start, and for each call."""

    @property
    def where(self) -> str:
        """The program or the address, as the user wrote it."""
        return self.url or " ".join((self.command, *self.args))


class _Server(NamedTuple):
    """One server: its keys one by one, then whether they go together."""

    keys: Group

    def check(self, value: object) -> dict[str, object]:
        checked = self.keys.check(value)
        if ("command" in checked) == ("url" in checked):
            shown = "given beside url" if "url" in checked else "missing"
            raise Refused(shown, "either command or url", "command")
        meant, others = ("command", _OF_PROGRAMS) if "url" in checked else ("url", _OF_ADDRESSES)
        for key in others:
            if key in checked:
                raise Refused("given", f"only for a server with {meant}", key)
        return checked

    def read(self, text: str) -> dict[str, object]:
        return self.check(self.keys.read(text))


MCP = FileOnly(Table(_Server(group_of(McpServer)), NAME), "servers are commands that run")


def build_servers(checked: Mapping[str, dict[str, object]]) -> dict[str, McpServer]:
    """The servers by name, from their checked tables."""
    return {name: McpServer(name=name, **table) for name, table in checked.items()}  # type: ignore[arg-type]
