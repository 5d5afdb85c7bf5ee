"""Archiving with a model that writes the digest: asked once, believed only where it said something."""

import pytest

from tests.context.governor_kit import plain_counter
from tests.context.histories import long_conversation
from tui_app.context.counting.prices import Spent
from tui_app.context.history import ListHistory
from tui_app.context.message_marks import is_digest
from tui_app.context.policy import RESERVE
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.view import Digest
from tui_app.events import Payload, ToolArchived

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize(
    ("answer", "performed_by", "chars"),
    [
        ("- #3: found", "model", None),
        ("- #3: found " * 500, "model", 1_200),
        (" \n", "heuristic", None),
        (None, "heuristic", None),
        (ValueError("no"), "heuristic", None),
    ],
)
async def test_one_model_call_for_all_that_leaves(
    answer: str | Exception | None, performed_by: str, chars: int | None
) -> None:
    asked: list[tuple[str, int]] = []

    async def ask(material: str, chars: int) -> Digest | None:
        asked.append((material, chars))
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else Digest(text=answer, model="m", spent=Spent(input_tokens=7))

    heard: list[Payload] = []
    view = ListHistory(plain_counter(), heard.append)
    view.sync(long_conversation(14, size=2_000))
    around = StageHost(digest=ask)
    await StageRunner(policy=RESERVE, history=view, count=len, around=around).make_room()
    assert [len(material) <= limit * 10 == 12_000 for material, limit in asked] == [True]
    (event,) = [event for event in heard if isinstance(event, ToolArchived)]
    assert len(event.changes) == 9, "above ten, until five stay"
    assert (event.performed_by, event.policy) == (performed_by, "reserve")
    assert event.input_tokens == (7 if isinstance(answer, str) else 0)
    (item,) = [item for item in view.items() if is_digest(item.message)]
    text = str(item.message.parts[0].content)  # type: ignore[union-attr]
    assert chars is None or len(text.partition("\n\n")[2]) == chars
