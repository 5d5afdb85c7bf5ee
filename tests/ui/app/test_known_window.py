"""Whose window is shown before a model was asked: the writer's own choice, for an onlooker the session's."""

from dataclasses import replace

from tests.ui.app.story import Story
from tests.ui.kit import Desk
from tui_app.session.model_state import Known
from tui_app.settings import Endpoint
from tui_app.ui.chat.log_reader import preview_of, with_window


def test_who_looks_on_sees_the_window_of_the_model_that_is_named(desk: Desk) -> None:
    ends = {"lake": 8_000, "sea": 200_000}
    desk.change(
        endpoints={
            name: Endpoint(name=name, base_url="http://127.0.0.1:9", window=ends[name]) for name in ends
        }
    )
    session = desk.store(Story(model="sea:one").user("When?"))
    launch = replace(desk.launch(session), model="lake:one")
    assert preview_of(launch, session).known.window.limit == 8_000, "whoever writes goes on with this one"
    with desk.log() as log:
        assert with_window(launch, log.info(session), Known()).window.limit == 200_000
