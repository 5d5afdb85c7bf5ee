"""Every screen and state has a picture in both themes and both usual sizes."""

import re
from collections import defaultdict
from pathlib import Path

PICTURES = Path(__file__).parent / "__snapshots__"
WANTED = {f"{size}-{theme}" for size in ("120x40", "80x24") for theme in ("dark", "light")}
_NAME = re.compile(r"test_(?P<state>\w+?)(?:\[(?P<ids>.*)\])?\.svg")
# One file has the light theme of what is dark in another.
_ALSO = {
    "chat_with_tools": "chat",
    "command_list": "commands",
    "earlier_prompts": "prompts",
    "filtered_timeline": "timeline",
    "model_picker": "models",
}
SPECIAL = {"plain", "tiny", "too_small", "very_wide", "without_colour", "chat_at_40x12"}
"""Pictures of unusual terminals: each state of them has one or two."""
ZONES = "gauge"
"""The whole chat near the lines of the gauge, beside the pictures of all its states."""
OVER = "in_the_background_over_the_chat"
"""At 80 columns only: with more of them the timeline stands beside the chat."""


def state_of(picture: Path) -> tuple[str, str]:
    """What a picture shows, and in which size and theme."""
    found = _NAME.fullmatch(picture.name)
    assert found is not None, picture.name
    state, ids = found["state"], (found["ids"] or "").split("-")
    sizes = [each for each in ids if each in ("120x40", "80x24")]
    light = "light" in ids or state == "light"
    scenes = [each for each in ids if each not in (*sizes, "dark", "light", "plimsoll")]
    parts = scenes if state in ("dark", "light") else [_ALSO.get(state, state), *scenes]
    return "-".join(parts), f"{sizes[0] if sizes else ''}-{'light' if light else 'dark'}"


def test_both_themes_and_sizes() -> None:
    shown = defaultdict(set)
    for picture in PICTURES.glob("*/*.svg"):
        state, look = state_of(picture)
        shown[state].add(look)
    left_out = {state for state in shown if state.split("-")[0] in SPECIAL | {ZONES, OVER}}
    assert len(shown) - len(left_out) > 50, "there are pictures"
    missing = {state: WANTED - looks for state, looks in shown.items() if state not in left_out}
    assert {state: sorted(looks) for state, looks in missing.items() if looks} == {}
