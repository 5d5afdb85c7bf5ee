"""The table of commands. Kept apart from the parser: the screen starts without loading any of them."""

from collections.abc import Mapping
from types import MappingProxyType

from tui_app.cli import (
    acp,
    compact,
    config,
    context,
    doctor,
    keys,
    memory,
    models,
    run,
    schema,
    serve,
    sessions,
    simulate,
    stats,
)
from tui_app.cli import (
    export as exporting,
)
from tui_app.cli import (
    imports as importing,
)
from tui_app.cli.command import Command

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        command.name: command
        for command in (
            run.COMMAND,
            sessions.COMMAND,
            importing.COMMAND,
            exporting.COMMAND,
            context.COMMAND,
            stats.COMMAND,
            memory.COMMAND,
            compact.COMMAND,
            simulate.COMMAND,
            models.COMMAND,
            keys.COMMAND,
            doctor.COMMAND,
            schema.COMMAND,
            serve.COMMAND,
            acp.COMMAND,
            config.COMMAND,
        )
    }
)
"""Every command by name. A folder of the same name is opened as ``./name``."""


def listing() -> str:
    """The commands for the help, a line each."""
    width = max(len(f"{command.name} {command.usage}") for command in COMMANDS.values())
    lines = [
        f"  {f'{command.name} {command.usage}':<{width}}  {command.summary}" for command in COMMANDS.values()
    ]
    return "\n".join(["commands:", *lines, "", "plimsoll COMMAND --help says more about a command."])
