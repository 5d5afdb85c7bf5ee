"""The safety matrix: every policy in every window on made-up sessions, and proof that each check can fail."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.facts_kit import call, says, shell, user
from tests.golden import kept_checksums
from tests.golden.plays import played
from tests.quality import verdicts
from tests.quality.disk_checks import kept_on_disk, survives_dying, unchanged_by_failure
from tests.quality.governed import COMPACTION_ALONE
from tests.quality.playing import Play
from tests.quality.safety import WINDOWS, main, matrix, play_name
from tests.quality.sent_checks import INSTRUCTIONS, ORDER, SECRET, Request, Source, judge, opening, parts_of
from tests.quality.test_report import transcript
from tests.quality.verdicts import CHECKS, play_through
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.history import Proposal
from tui_app.context.policy import PLIMSOLL, PRESETS
from tui_app.conversation.history.session_history import SessionHistory


def text() -> TextCounter:
    """Estimated token counts, so no tokenizer has to be loaded."""
    return TextCounter(None)


def work(turns: int, printed: int) -> list[ModelMessage]:
    """Writes files and runs tests, turn by turn."""
    messages: list[ModelMessage] = [*user("Build the shop. Never touch the migrations."), *says("I begin.")]
    for turn in range(turns):
        messages += user(f"Now page {turn}, als nächstes bitte 次 🚢.")
        messages += call(
            "Write", {"file_path": f"/w/page{turn}.py", "content": "x = 1\n" * 90}, "File created"
        )
        messages += shell(f"pytest test_page{turn}.py", "passed " * printed)
        messages += says(f"Page {turn} is done.")
    return messages


def giants() -> list[ModelMessage]:
    """One huge result, one huge line, one long prompt."""
    lines = "".join(f"{number}: the tide comes in twice a day\n" for number in range(2_100))
    return [
        *user("Read the log. " + "It must stay whole. " * 150),
        *call("read", {"path": "log.txt"}, lines),
        *call("read", {"path": "line.txt"}, "word " * 11_000),
        *says("Read."),
        *work(2, 400),
    ]


def odd(turns: int = 7) -> list[ModelMessage]:
    """Oddities of other programs: calls without results, empty results, reused ids, blank messages."""
    messages: list[ModelMessage] = [*user("Go on."), ModelResponse(parts=[TextPart("")])]
    for turn in range(turns):
        pair = [ToolCallPart("a", {"n": turn}, "one"), ToolCallPart("b", {"n": turn}, "two")]
        messages += [
            ModelResponse(parts=[ThinkingPart("Hm."), TextPart(f"Both, {turn}."), *pair]),
            ModelRequest(
                parts=[
                    ToolReturnPart("b", f"{turn} second " * 400, "two"),
                    ToolReturnPart("a", f"{turn} first " * 400, "one"),
                ]
            ),
            ModelRequest(parts=[ToolReturnPart("a", "of nothing", f"orphan-{turn}")]),
            ModelResponse(parts=[TextPart("Then."), ToolCallPart("c", {"n": turn}, f"open-{turn}")]),
            ModelRequest(parts=[UserPromptPart(["Look at this.", ImageUrl("https://example.org/a.png")])]),
            ModelResponse(parts=[TextPart("Said twice, ")]),
            ModelResponse(parts=[TextPart(f"number {turn}.")]),
            *user(f"And {turn}?"),
        ]
    return messages


def reminded() -> list[ModelMessage]:
    """A long turn with a long inserted reminder; the user's request is the prompt before it."""
    steps = [message for step in range(12) for message in shell(f"make page{step}", "passed " * 700)]
    return [*user("Build every page."), *steps[:8], *user(REMINDER * 150), *steps[8:]]


REMINDER = "\n<system_reminder>\nKeep the lines short.\n</system_reminder>\n"
SESSIONS = {"work": work(11, 500), "giants": giants(), "odd": odd(), "reminded": reminded()}


WHOLE = {"work": WINDOWS[-1], "odd": WINDOWS[-1], "reminded": WINDOWS[-1]}
"""Sessions that are one request in this window: the end of their play is judged in the next smaller one."""
NARROW = [(name, window) for name in SESSIONS for window in WINDOWS if WHOLE.get(name) != window]


@pytest.mark.parametrize(("name", "window"), WHOLE.items())
async def test_a_session_that_fits_whole_is_sent_as_it_is_kept(name: str, window: int) -> None:
    frozen = kept_checksums("made-up.txt")
    for policy in PRESETS.values():
        made = await played(SESSIONS[name], policy, window, text())
        assert made == frozen[play_name(name, policy.name, window)], policy.name


@pytest.mark.parametrize(("name", "window"), NARROW)
def test_every_policy_passes_every_check(name: str, window: int) -> None:
    """Requests are judged in every play; failing writes only in two of the six plays of a session.

    Writing a compaction depends neither on the policy that started it nor on the window. So each session,
    window and policy is tested with a failure at every write, but not every combination.
    """
    place = NARROW.index((name, window))
    dying = {list(PRESETS)[(place + more) % len(PRESETS)] for more in (0, 3)}
    found = matrix([SESSIONS[name]], list(PRESETS.values()), [window], text(), dying)
    assert len(found) == len(PRESETS)
    assert {key[1]: dict(verdict.failures) for key, verdict in found.items() if verdict.failures} == {}
    frozen = kept_checksums("made-up.txt")
    made = {play_name(name, policy, window): verdict.bytes for (_, policy, _), verdict in found.items()}
    assert made == {play: frozen[play] for play in made}, "if this is meant: python -m tests.golden"
    assert all(verdict.requests > verdict.refused for verdict in found.values())
    if window == WINDOWS[0]:
        done = [verdict.compactions + verdict.cut + verdict.rewrites for verdict in found.values()]
        assert all(done), "there was something to do"


def test_a_page_holds_nothing_of_the_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transcript(tmp_path / "zanzibar.json", 10)
    out = tmp_path / "out.md"
    assert main([str(tmp_path), "--window", "4000", "--markdown", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert page == capsys.readouterr().out[:-1]
    assert "1 transcripts, each under 6 policies in 1 windows: 6 plays, " in page
    assert f"| S1 {CHECKS['S1']} | 6/6 |" in page
    assert "| 1, openai-chat | " in page
    assert "zanzibar" not in page


def test_an_empty_folder_and_a_failure_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([str(tmp_path)]) == 1
    assert "No transcript in " in capsys.readouterr().err
    transcript(tmp_path / "zanzibar.json", 2)
    monkeypatch.setattr(verdicts, "kept_on_disk", lambda _play: False)
    assert main([str(tmp_path), "--window", "4000"]) == 1
    told = capsys.readouterr()
    assert "plimsoll, 4,000: {'S6': 1}" in told.err
    assert f"| S6 {CHECKS['S6']} | 0/6 |" in told.out


SAID: list[ModelMessage] = [
    *user("Read both."),
    ModelResponse(parts=[ToolCallPart("a", {}, "1"), ToolCallPart("b", {}, "2")]),
    ModelRequest(parts=[ToolReturnPart("b", "second", "2"), ToolReturnPart("a", "first", "1")]),
    *says("Read."),
    *user("Now write."),
]
SYSTEM, *REST = OPENING = opening()


def summary(words: str = "Notes.") -> ModelRequest:
    return ModelRequest(parts=[CompactionPart(words)])


def broken(
    messages: Sequence[ModelMessage],
    *,
    cut: bool = False,
    instructions: str = INSTRUCTIONS,
    said: Sequence[ModelMessage] = SAID,
    rewritten: Sequence[ModelMessage] = (),
) -> set[str]:
    """Names of the checks that a request fails."""
    source = Source()
    source.add([*OPENING, *said])
    changed = frozenset(key for _, key, _ in parts_of(rewritten))
    request = Request(messages, instructions, cut, changed, keeps_first=False)
    return {name for name, passed in judge(request, source).items() if not passed}


@pytest.mark.parametrize(
    ("messages", "fails"),
    [
        ([SYSTEM, *REST, *SAID], set[str]()),
        ([SYSTEM, summary(), *SAID[-3:]], {"S1", "S2", "S3", "S4"}),
        ([SYSTEM, summary(), *SAID[1:]], set[str]()),
        ([SYSTEM, summary(), SAID[0], *SAID[-2:]], set[str]()),
        ([SYSTEM, summary(), SAID[-2], SAID[-1]], set[str]()),
        ([SYSTEM, summary(), SAID[-1], SAID[-2], SAID[0]], {"S2", "S4"}),
        ([SYSTEM, summary(), *SAID[1:3], SAID[-1]], {"S4"}),
        ([SYSTEM, summary(), SAID[0], *SAID[-2:-1]], {"S3", "S4"}),
        ([SYSTEM, summary(), *says("Reed."), SAID[-1]], {"S2", "S4"}),
        ([SYSTEM, *REST, *SAID[:-1], *says("More."), *user("Now write.")], {"S2", "S3", "S4"}),
        ([SYSTEM, *REST[1:], *SAID], {"S4"}),
        (
            [ModelRequest(parts=[SystemPromptPart("You are careless.")]), summary(), SAID[-1]],
            {"S2", "S4", "S5"},
        ),
        ([SYSTEM, summary(), summary(), SAID[-1]], {"S10"}),
        ([SYSTEM, summary(f"- {ORDER}"), SAID[-1]], {"S10"}),
        ([SYSTEM, summary(f"key {SECRET}"), SAID[-1]], {"S11"}),
    ],
)
def test_the_checks_of_a_request_can_fail(messages: list[ModelMessage], fails: set[str]) -> None:
    assert broken(messages) == fails


def test_a_request_that_was_cut_may_miss_something_but_never_the_latest_prompt() -> None:
    shorter = replace(SAID[2], parts=[ToolReturnPart("b", "sec", "2"), ToolReturnPart("a", "first", "1")])  # type: ignore[type-var]
    assert broken([SYSTEM, SAID[0], SAID[1], shorter, *SAID[3:]]) == {"S4"}
    assert broken([SYSTEM, SAID[0], SAID[1], shorter, *SAID[3:]], cut=True) == set()
    assert broken([SYSTEM, *SAID[:3]], cut=True) == {"S4"}
    assert broken([SYSTEM, *REST, *SAID], instructions="") == {"S5"}


def test_thinking_may_leave_where_that_is_on_record() -> None:
    thought = ModelResponse(parts=[ThinkingPart("Which?"), TextPart("Read.")])
    said = [*SAID[:3], thought, SAID[-1]]
    without = replace(thought, parts=[ThinkingPart(""), TextPart("Read.")])
    sent = [SYSTEM, *REST, *SAID[:3], without, SAID[-1]]
    assert broken(sent, said=said) == {"S4"}
    assert broken(sent, said=said, rewritten=[thought]) == set()
    wordless = replace(thought, parts=[ThinkingPart("")])
    assert "S4" in broken([SYSTEM, *REST, *SAID[:3], wordless, SAID[-1]], said=said, rewritten=[thought])


@pytest.mark.parametrize(
    ("behind", "missed"),
    [
        (REMINDER, set[str]()),
        (REMINDER * 2, set[str]()),
        (f"{REMINDER}Now the docs.", {"S4"}),
        (f"Now the docs.{REMINDER}", {"S4"}),
        (f"{REMINDER}Now the docs.{REMINDER}", {"S4"}),
    ],
)
def test_a_reminder_may_be_cut_and_the_prompt_in_front_of_it_may_not(behind: str, missed: set[str]) -> None:
    said = [*SAID, *says("I write."), *user(behind)]
    assert broken([SYSTEM, *SAID], cut=True, said=said) == missed
    assert broken([SYSTEM, *SAID[:-2], *said[-2:]], cut=True, said=said) == {"S4"} - missed
    assert broken([SYSTEM, summary(), *said[-3:]], said=said) == set()
    assert broken([SYSTEM, summary(), SAID[-1], *said[-1:]], said=said) == set()


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """A play with at least one compaction."""
    played = Play(tmp_path, COMPACTION_ALONE, 8_000, text())

    async def go() -> None:
        played.say(opening())
        for turn in range(8):
            played.say([*shell(f"make page{turn}", "passed " * 900), *says("Done."), *user("Go on.")])
            await played.send()

    asyncio.run(go())
    assert played.history.view.compactions
    return played


def test_log_and_disk_pass(play: Play) -> None:
    assert asyncio.run(unchanged_by_failure(play))
    assert asyncio.run(survives_dying(play))
    assert kept_on_disk(play)
    play.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE seq = 4",
        "UPDATE events SET message = replace(message, 'strange', 'fine')",
        "UPDATE events SET data = replace(data, 'strange', 'fine')",
    ],
)
def test_the_check_of_the_log_can_fail(play: Play, statement: str) -> None:
    play.store._db.execute(statement)
    assert not kept_on_disk(play)
    play.close()


def test_the_checks_of_failing_can_fail(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both checks detect a view that changes before the log does."""
    commit: Callable[[SessionHistory, Proposal], object] = SessionHistory.commit

    def hasty(self: SessionHistory, proposal: Proposal) -> object:
        self.view._hide(list(self.view._visible), by=1)
        self._items = None
        return commit(self, proposal)

    monkeypatch.setattr(SessionHistory, "commit", hasty)
    assert not asyncio.run(survives_dying(play))
    assert not asyncio.run(unchanged_by_failure(play))
    play.close()


async def test_the_check_of_what_was_due_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Play, "_due", lambda _play, _start: False)
    found = await play_through(work(14, 1_600), PLIMSOLL, 8_000, text(), tmp_path)
    assert dict(found.failures) == {"S9": 1}
