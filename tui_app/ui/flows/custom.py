"""Commands that a person or a project has written: finding them, and sending what one stands for."""

import asyncio
from typing import TYPE_CHECKING

from tui_app.conversation.work import Prompt
from tui_app.mentioned import mentions
from tui_app.project_files import Refused
from tui_app.ui.commands import COMMANDS
from tui_app.ui.custom_commands import CustomCommand, find_commands, prompt_of
from tui_app.ui.flows.sending import send
from tui_app.ui.launch import Launch

if TYPE_CHECKING:
    from tui_app.ui.screens.chat import ChatScreen


async def offer_custom(screen: "ChatScreen", launch: Launch) -> None:
    """Let the prompt offer them; the files are looked for in a thread."""
    # A command of two words also takes its first one: nobody could tell them apart.
    taken = {word for command in COMMANDS for name in command.names for word in (name, name.split()[0])}
    found = await asyncio.to_thread(find_commands, launch.cwd, launch.paths.config, taken)
    screen.pane.prompt.editor.custom = found


async def send_custom(screen: "ChatScreen", command: CustomCommand, argument: str) -> None:
    """Send the prompt that a command stands for; what was typed goes back where there is none."""
    session, editor = screen.session, screen.pane.prompt.editor
    typed = f"/{command.name} {argument}".strip()
    try:
        text = await asyncio.to_thread(prompt_of, command, argument)
    except Refused as refused:
        editor.give_back(typed)
        session.say(f"/{command.name} cannot be used: {refused}.")
        return
    if text.strip():
        send(screen, Prompt(text, mentions(text)))
    else:
        editor.give_back(typed)
        session.say(f"/{command.name} says nothing: {command.file} is empty.")
