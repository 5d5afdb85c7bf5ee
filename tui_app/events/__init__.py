"""Events of a session: frozen values shared by the log, the screen, the JSON output and programs.

A payload describes what happened; a :class:`Record` adds the time and its place in the log. Records with
``seq`` 0 are live only (streamed text, progress): they are shown, never stored. Nothing here imports
pydantic-ai, so a resumed session can be painted before the agent side is loaded.
"""

# Each import declares its events, in the order of the schema and of the page of events.
# isort: off
from tui_app.events.base import *
from tui_app.events.conversation import *
from tui_app.events.context import *
from tui_app.events.session import *
from tui_app.events.live import *
from tui_app.events.rewrites import *

# isort: on
from tui_app.events.record import Record as Record
from tui_app.events.record import data_of as data_of
from tui_app.events.record import payload_from_json as payload_from_json
from tui_app.events.record import payload_to_json as payload_to_json

PAYLOADS: tuple[type[Payload], ...] = tuple(BY_TYPE.values())
