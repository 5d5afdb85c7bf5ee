"""Trust in the folder: asked for when it matters, and given on the screen at any time."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.refusals import Refusal
from tui_app.system.project_files import repository_root
from tui_app.system.trust import remember_trust, trust_in
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.questions import confirmed
from tui_app.ui.launch import Launch
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.slash import CustomCommand, find_commands
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_CELLS = 200
_NEW = "First time in {folder}. It contains:"
_BRINGS = "With your trust, {folder} would use:"
_BRINGS_NOTHING = "Trust {folder}?"
_GIT = "git is used in folders that you trust only: it runs the hooks and filters that a repository names."
_ADVICE = "Trust it only if you know who wrote it. Asked once per repository; /trust changes the answer."


async def settle_trust(app: "Host", launch: Launch, find: Callable[[Path], Sequence[CustomCommand]]) -> bool:
    """Return whether the folder is trusted, asking if it contains something and there is no answer yet.

    Args:
        app: Shows the question.
        launch: The launch, with its folder.
        find: Finds the commands of the user and the folder.
    """
    known = True if launch.trust else await asyncio.to_thread(trust_in, launch.paths, launch.env, launch.cwd)
    if known is not None:
        return known
    brought = await asyncio.to_thread(_brought, launch, find)
    if not brought:
        return False
    gauge = app.chat.query_one(ContextGauge)
    gauge.caption = "waits for your answer"
    trusted = await _asked(app, launch, f"{_NEW}\n\n{brought}")
    gauge.caption = ""
    return trusted


async def grant_trust(app: "Host", session: ChatSession, taken: Collection[str]) -> None:
    """Ask for trust, and open the session again with what the folder contains.

    Args:
        app: Shows the question.
        session: The session in the folder.
        taken: Names that the folder's commands cannot have.
    """
    launch = session.launch
    if launch.trusted:
        raise Refusal("This folder is trusted. `plimsoll trust --no` takes that back.")
    find = partial(find_commands, config=launch.paths.config, taken=taken, may_read=launch.may_read())
    brought = await asyncio.to_thread(_brought, launch, find)
    question = f"{_BRINGS}\n\n{brought}" if brought else _BRINGS_NOTHING
    # Rules apply at once; what is read when a session starts applies to the new session only.
    if await _asked(app, launch, question) and await may_leave(app, session):
        app.open_session(session.id if session.presenter.view.entries else "")


async def may_use_git(app: "Host", session: ChatSession) -> bool:
    """Ask for trust if git is needed in an untrusted folder; True if there is nothing to ask."""
    launch = session.launch
    root = repository_root(launch.cwd)
    if launch.trusted or not (root / ".git").exists():
        return True
    trusted = await _asked(app, launch, f"{_GIT}\n\n{_BRINGS_NOTHING}")
    if not trusted:
        session.reply("Not committed: git is used in folders that you trust only.")
    return trusted


def _brought(launch: Launch, find: Callable[[Path], Sequence[CustomCommand]]) -> str:
    """List what is used only with trust, one row per kind; reads the folder's files."""
    names = [f"/{command.name}" for command in find(launch.cwd) if command.root is not None]
    rows = launch.brought(names).rows()
    width = max((len(kind) for kind, _ in rows), default=0)
    return "\n".join(f"  {kind:<{width}}  {one_line(items, _CELLS)}" for kind, items in rows)


async def _asked(app: "Host", launch: Launch, question: str) -> bool:
    folder = one_line(str(launch.cwd), _CELLS)
    # The folder's content may contain braces.
    text = f"{question.replace('{folder}', folder, 1)}\n\n{_ADVICE}"
    trusted = await confirmed(app, text, verb="Trust", keep="Don't trust")
    try:
        await asyncio.to_thread(remember_trust, launch.paths, launch.cwd, trusted)
    except OSError as error:
        app.chat.session.report(f"Could not save your answer ({error.strerror}). You will be asked again.")
        return False
    return trusted
