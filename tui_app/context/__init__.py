"""The governance core: what is in the context window, and what may be removed.

Importing this package is cheap: pydantic-ai is loaded only when one of the names below is first used.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_app.context.governor import ContextGovernor as ContextGovernor
    from tui_app.context.policy import PLIMSOLL as PLIMSOLL
    from tui_app.context.policy import PRESETS as PRESETS
    from tui_app.context.policy import Policy as Policy

__all__ = ["PLIMSOLL", "PRESETS", "ContextGovernor", "Policy"]
_HOMES = {
    "ContextGovernor": "tui_app.context.governor",
    "PLIMSOLL": "tui_app.context.policy",
    "PRESETS": "tui_app.context.policy",
    "Policy": "tui_app.context.policy",
}


# A library prints nothing on the terminal of its program, unless that program configures logging.
logging.getLogger("tui_app").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
