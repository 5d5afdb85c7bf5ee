"""Imports everything that the program's commands need, including sessions with a model (see ``forked``)."""

import gc
from importlib import import_module

from tui_app.context.counting.encodings import NEAREST, _build

for name in (
    "anyio._backends._asyncio",
    "genai_prices.data",
    "jiter",
    "openai.lib.streaming.chat",
    "openai.resources.chat.completions",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai_compatible",
    "tiktoken.registry",
    "tomllib",
    "tui_app.cli.program",
    "tui_app.cli.setup.servers",
    "tui_app.conversation.assembly",
    "tui_app.editors.agent",
    "tui_app.ui.app",
):
    import_module(name)
_build(NEAREST)
gc.freeze()
