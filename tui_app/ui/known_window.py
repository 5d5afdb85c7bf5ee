"""The window of a model as far as it is known before the agent side is loaded: nobody is asked for it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.context.counting.usage import ContextWindow
from tui_app.context.windows import LearntModels, resolve_window
from tui_app.session.model_state import UNKNOWN, Known
from tui_app.session.port import SessionInfo
from tui_app.session.preview import Preview, load_preview
from tui_app.settings import OFFLINE_MODEL, OFFLINE_WINDOW

if TYPE_CHECKING:
    from tui_app.ui.launch import Launch


def known_window(launch: "Launch", model: str) -> ContextWindow:
    """What settings and earlier errors say of a model; without them it is unknown until the model is built.

    Args:
        launch: Settings, and the file of what was learnt.
        model: Full name.
    """
    prefix, _, name = model.partition(":")
    endpoint = launch.settings.endpoints.get(prefix)
    learnt = LearntModels(launch.paths.learnt_file).limit_anywhere(name)
    told = endpoint.window if endpoint is not None else OFFLINE_WINDOW if model == OFFLINE_MODEL else None
    setting = launch.settings.window
    if not (setting or learnt or told):
        return UNKNOWN
    return resolve_window(setting=setting, learnt=learnt, model=told)


def preview_of(launch: "Launch", session: str) -> Preview:
    """Read what is shown of a session at once, with the window of a model that was never asked anything.

    Raises:
        SessionNotFound: if the id fits no session.
        sqlite3.Error: if the log cannot be read.
    """
    preview = load_preview(launch.database, session)
    return replace(preview, known=with_window(launch, preview.info, preview.known, chosen=launch.model))


def with_window(launch: "Launch", info: SessionInfo, known: Known, *, chosen: str = "") -> Known:
    """What the log knows, with the window of a model that was never asked anything in this session.

    Args:
        launch: What the program was started with.
        info: The session's line in the list.
        known: What its log knows.
        chosen: Model that whoever is to write it has chosen; empty for whoever only looks on.
    """
    if known.window is not UNKNOWN:
        return known
    return replace(known, window=known_window(launch, chosen or info.model or launch.first_model))
