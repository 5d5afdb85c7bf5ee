"""Strict servers accept all requests of whole sessions, under every policy and any rewrite of the view."""

import os
from pathlib import Path

import pytest

from tests.quality.test_safety import odd, work
from tests.quality.transcripts import find_files, read_transcript
from tests.quality.wires import SITUATIONS, WINDOWS, judge
from tests.servers.strict import WIRES
from tests.wires.test_wire_form import foreign
from tui_app.context.policy import PRESETS

TRANSCRIPTS = find_files([Path(os.environ.get("PLIMSOLL_TRANSCRIPTS") or os.devnull)])
"""Read at import, because tests run without our environment variables."""


SESSIONS = {"work": work(5, 1_100), "odd": odd(4), "foreign": foreign() * 2}


@pytest.mark.parametrize("name", SESSIONS)
async def test_no_request_is_refused(name: str) -> None:
    judged = await judge([SESSIONS[name]], [32_000], list(PRESETS.values()))
    assert judged.refusals == []
    assert {wire for wire, _ in judged.learnt} <= {"alternating"}
    assert {where for _, where in judged.requests} >= set(SITUATIONS) - {"undone"}
    assert {wire for wire, _ in judged.requests} == set(WIRES)


@pytest.mark.transcripts
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
async def test_no_request_of_a_real_transcript_is_refused(path: Path) -> None:
    transcript = read_transcript(path)
    if transcript is not None:
        judged = await judge([transcript.messages], WINDOWS, list(PRESETS.values()))
        assert judged.refusals == []
