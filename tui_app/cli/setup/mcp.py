"""``plimsoll mcp``: add, list, test and remove MCP servers, and sign in to one."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tui_app.cli.core.command import OK, CommandFailed, Program, WrongUsage
from tui_app.cli.core.output import answer, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.settings import Settings
from tui_app.settings.edit import RefusedChange, SettingsFile
from tui_app.settings.tables import McpServer, defer_above, servers_for
from tui_app.system.project_files import repository_root
from tui_app.text import count
from tui_app.ui.words.text import one_line, table_lines

if TYPE_CHECKING:
    from pydantic_ai.tools import ToolDefinition

    from tui_app.agent.mcp.servers import McpServers
    from tui_app.agent.mcp.status import Consent, McpStatus
    from tui_app.agent.mcp.tokens import TokenStore
    from tui_app.context.counting.tokens import TokenCounter

_SHOWN_CELLS = 60
_HEADS = ("NAME", "STATE", "TOOLS", "TOKENS", "LOADED", "WHERE")


def add(program: Program, args: argparse.Namespace) -> None:
    """Add a server to the settings file.

    Raises:
        WrongUsage: if it is invalid or exists already; nothing is written then.
    """
    name: str = args.name
    table: dict[str, Any] = {}
    if args.url:
        table["url"] = args.url
    if args.command:
        table |= {"command": args.command[0], "args": args.command[1:]}
    if len({"url", "command"} & table.keys()) != 1:
        raise WrongUsage(
            "Usage: plimsoll mcp add NAME -- COMMAND [ARGUMENT …], or plimsoll mcp add NAME --url URL"
        )
    table |= {"env": _pairs(args.env, "--env", "NAME=VALUE")} if args.env else {}
    table |= {"headers_env": _pairs(args.header, "--header", "NAME=VARIABLE")} if args.header else {}
    if args.scope == "project":
        table["project"] = str(repository_root(program.cwd))
    if name in program.settings().mcp:
        raise WrongUsage(f"There is a server {name} already. To replace it: plimsoll mcp remove {name}")
    file = program.paths.config_file
    program.paths.ensure()
    try:
        SettingsFile(program.paths, program.env).put(("mcp", name), table)
    except RefusedChange as refused:
        raise WrongUsage(f"{str(refused).removeprefix(f'{file}: ')} Nothing was written to {file}.") from None
    where = f", for {table['project']}" if "project" in table else ""
    line = f"{name} is set in {file}{where}. New sessions start it."
    answer({"server": name, "file": str(file), "scope": args.scope}, line, as_json=args.json)
    if not args.json:
        tell(f"To see whether it works: plimsoll mcp test {name}")


def _pairs(words: Sequence[str], flag: str, form: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    if wrong := next((word for word, sign, _ in pairs if not sign or not word), None):
        raise WrongUsage(f"{flag} is {one_line(wrong, 40)!r}; allowed: {form}")
    return {name.strip(): value for name, _, value in pairs}


def remove(program: Program, args: argparse.Namespace) -> None:
    """Remove a server from the settings file."""
    _known(program.settings(), args.name)
    SettingsFile(program.paths, program.env).put(("mcp", args.name), None)
    file = str(program.paths.config_file)
    answer({"server": args.name, "file": file}, f"{args.name} is no longer in {file}.", as_json=args.json)


def show(program: Program, args: argparse.Namespace) -> None:
    """Print the configured servers, with what is known of them; none is started."""
    # Imported here: counting tools needs the agent side.
    from tui_app.agent.catalog import listed_window
    from tui_app.agent.mcp.seen_tools import SeenTools
    from tui_app.agent.mcp.servers import found_by_search
    from tui_app.context.windows.windows import DEFAULT_LIMIT

    settings = program.settings()
    endpoint = settings.endpoints.get(settings.model.partition(":")[0])
    set_to = settings.window or (endpoint.window if endpoint is not None else None)
    room = round((set_to or listed_window(settings.model) or DEFAULT_LIMIT) * defer_above(settings.tools))
    counter, seen = _counter(program), SeenTools(program.paths.state / "mcp.json")
    servers = settings.mcp
    here = servers_for(servers, program.cwd)
    known = {name: seen.of(server) for name, server in servers.items()}
    sizes = {name: counter.tools(tools) for name, tools in known.items() if tools is not None}
    started = {name: size for name, size in sizes.items() if name in here and servers[name].enabled}
    searched = found_by_search(started, room)
    listed, rows = list[dict[str, object]](), []
    for name, server in servers.items():
        tools, size, is_searched = known[name], sizes.get(name), name in searched
        state = "off" if not server.enabled else "on" if name in here else f"only in {server.project}"
        number = None if tools is None else len(tools)
        listed.append(
            {"name": name, "where": server.where, "enabled": server.enabled, "project": server.project,
             "here": name in here, "tools": number, "tokens": size, "by_search": is_searched,
             "saved": size if is_searched else 0}
        )  # fmt: skip
        figures = ("?" if number is None else str(number), "?" if size is None else f"{size:,}")
        loaded, where = "by search" if is_searched else "", one_line(server.where, _SHOWN_CELLS)
        rows.append((name, state, *figures, loaded, where))
    none = ["No MCP server is configured. To add one: plimsoll mcp add NAME -- COMMAND [ARGUMENT …]"]
    answer(
        {"servers": listed},
        *(table_lines([_HEADS, *rows], right=(2, 3)) if rows else none),
        as_json=args.json,
    )


@dataclass(slots=True)
class Alone:
    """A host for servers outside of a session."""

    counter: "TokenCounter"
    statuses: list["McpStatus"] = field(default_factory=list)

    def other_names(self) -> Sequence[str]:
        return ()

    def on_status(self, status: "McpStatus") -> None:
        self.statuses.append(status)

    def without(self, servers: Sequence["McpStatus"]) -> None: ...

    async def ask(self, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        return None

    def weigh(self, tool: "ToolDefinition") -> int:
        return self.counter.tools([tool])

    def room(self) -> int:
        return 0

    def sent(self) -> Sequence[str]:
        return ()


def try_server(program: Program, args: argparse.Namespace) -> int:
    """Start a server, or sign in to one, print its tools with their tokens, and stop it.

    Raises:
        CommandFailed: if the server cannot be used; the text gives the reason.
    """
    name, signs_in, settings = args.name, args.action == "login", program.settings()
    server = replace(_known(settings, name), enabled=True)
    if signs_in and not server.url:
        raise CommandFailed(f"{name} is a program: there is nothing to sign in to.")

    def announce(consent: "Consent") -> None:
        for line in consent.text.splitlines():
            tell(one_line(line, 8_000))

    async def work() -> "McpStatus":
        servers = _servers(program, settings, server)
        try:
            if signs_in:
                return await servers.sign_in(name, announce)
            servers.start()
            await servers.settle(server.timeout + 1)
            return servers.statuses()[0]
        finally:
            await servers.close()

    async def shown() -> int:
        if signs_in:
            status = await work()
        else:
            with ProgressLine(f"Starting {name}"):
                status = await work()
        if status.state != "ready":
            raise CommandFailed(f"{name} does not work. {status.error or 'It did not start in time.'}")
        _print_status(status, as_json=args.json)
        return OK

    return run_until_signal(shown())


def _print_status(status: "McpStatus", *, as_json: bool) -> None:
    tools = [
        {"name": tool.name, "tokens": tool.tokens, "description": tool.description} for tool in status.tools
    ]
    rows = [
        (one_line(tool.name, 64), f"{tool.tokens:,}", one_line(tool.description, _SHOWN_CELLS))
        for tool in status.tools
    ]
    about = {"tokens": status.tokens, "left_out": list(status.left_out)}
    answer(
        {"server": status.name, "tools": tools, **about},
        *table_lines([("TOOL", "TOKENS", ""), *rows], right=(1,)),
        f"{status.name} works: {count(len(rows), 'tool')}, {status.tokens:,} tokens of each request.",
        as_json=as_json,
    )
    for sentence in () if as_json else status.left_out:
        tell(one_line(sentence, 300))


def sign_out(program: Program, args: argparse.Namespace) -> None:
    """Delete the tokens of a sign-in."""
    server = _known(program.settings(), args.name)
    is_erased = _sign_ins(program).keep(server.url, {})
    line = f"{args.name}: signed out." if is_erased else f"You were not signed in at {args.name}."
    answer({"server": args.name, "forgotten": is_erased}, line, as_json=args.json)


def _sign_ins(program: Program) -> "TokenStore":
    from tui_app.agent.mcp.tokens import TokenStore

    return TokenStore(program.keys, program.paths.state / "mcp-sign-ins.json")


def _known(settings: Settings, name: str) -> McpServer:
    servers: Mapping[str, McpServer] = settings.mcp
    if name not in servers:
        there = ", ".join(servers) or "none"
        raise CommandFailed(f"No MCP server {one_line(name, 40)}. Configured: {there}.")
    return servers[name]


def _servers(program: Program, settings: Settings, server: McpServer) -> "McpServers":
    from tui_app.agent.mcp.seen_tools import SeenTools
    from tui_app.agent.mcp.servers import McpServers
    from tui_app.system.trust import ProgramPlace, trust_in

    program.paths.ensure()
    trusted = trust_in(program.paths, program.env, program.cwd) is True
    return McpServers(
        {server.name: server},
        ProgramPlace(own=program.paths.config, folder=program.cwd, env=program.env, trusted=trusted),
        SeenTools(program.paths.state / "mcp.json"),
        Alone(_counter(program)),
        tokens=_sign_ins(program),
    )


def _counter(program: Program) -> "TokenCounter":
    from tui_app.context.counting.encodings import TextCounter, encoding_name
    from tui_app.context.counting.tokens import TokenCounter

    return TokenCounter(TextCounter(encoding_name(program.settings().model)))
