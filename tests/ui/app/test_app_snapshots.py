"""What the whole screen looks like. Stable by design: fixed times, sizes and numbers, nothing that runs.

After a wanted change run this file with ``--snapshot-update`` and look at the pictures before keeping them.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Any, Literal

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app import scenes
from tests.ui.app.scenes import compaction, tab
from tests.ui.app.story import MODEL, Story
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, write_files
from tests.ui.plans import proposed
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice
from tui_app.conversation import agent_setup as agents
from tui_app.events import (
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    CompactionUndone,
    Error,
    Fact,
    MessagePinned,
    SessionRewind,
    ToolTrimmed,
)
from tui_app.ui.dialogs.compaction import CheckpointsScreen, SummaryEditor
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.models import ModelPicker, SwitchDialog
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.prompts import PromptsScreen
from tui_app.ui.dialogs.queue import QueueScreen
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.rewind import PromptPicker
from tui_app.ui.dialogs.sessions import SessionsScreen
from tui_app.ui.dialogs.stats import StatsScreen
from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.prompt.row import AttachedRow
from tui_app.ui.status import StatusRow

Compare = Callable[..., bool]
Scene = Callable[[Deck], Awaitable[None]]

ANSWER = """\
The parser drops rows whose weekday is `0`, because the check in `import.py:2` treats zero as missing:

```python
def rows(table):
    return [row for row in table if row.weekday]
```

1. Compare with `None` instead of asking for truth.
2. Add a row for a **Sunday** to the tests.
"""
CHOICES = [
    ModelChoice(MODEL, "scripted · harbour", 128_000, "setting", available=True),
    ModelChoice("dinghy:scripted", "scripted · dinghy", 32_000, "server", available=True, local=True),
    ModelChoice("offline:extractive", "extractive", 32_000, "model", available=True, price="free"),
    *(
        ModelChoice(f"ollama:model-{number}", "", 64_000, "server", available=True, local=True, price="free")
        for number in range(6)
    ),
    ModelChoice("anthropic:claude-sonnet-5-5", "", 1_000_000, "model", False, "needs ANTHROPIC_API_KEY"),
    ModelChoice("openai:gpt-5.4-mini", "", 400_000, "model", False, "needs OPENAI_API_KEY"),
]
DONE = CompactionComplete(
    job="j",
    outcome="success",
    trigger="background",
    model=MODEL,
    title="sunday import",
    summary=(
        "# Intent\nFix the ferry import, which fails on Sundays.\n\n# Done\n"
        "- `import.py` compares the weekday with `None`.\n- The tests have a row for a Sunday.\n\n"
        "# Open\n- Public holidays are not handled yet."
    ),
    removed=((2, 6),),
    tokens={"summary": 6_200},
    tokens_before=91_500,
    tokens_after=6_200,
    messages_before=212,
    messages_after=9,
    tokens_removed=85_300,
    messages_removed=203,
    retention=0.98,
    facts=(
        Fact(kind="rule", text='"never touch the legacy importer"', source="#2"),
        Fact(kind="file", text="import.py · edited 3×", source="#5"),
        Fact(kind="command", text="full pytest log", source="#6", state="recoverable"),
        Fact(kind="detail", text="batch size 250", source="#6", state="lost"),
    ),
    duration_s=4.1,
    cost_usd=0.004,
)


def talk(reported: int = 12_800) -> Story:
    """A prompt, two tools, an answer."""
    return (
        Story("Why does the ferry import fail on Sundays?")
        .user("Why does the ferry import fail on Sundays?")
        .tool("grep", '{"pattern": "weekday"}', "import.py:2: row.weekday\nimport.py:9: weekday", tokens=212)
        .tool("read_file", '{"path": "import.py"}', "1\tdef rows(table):\n2\t    return", tokens=1_400)
        .answer(ANSWER, 1_100, reported=reported)
    )


def compacted_talk() -> Story:
    story = talk().compacted(DONE)
    return story.user("and now also handle public holidays").answer("They are rows as well.", reported=9_700)


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same session ids, models and instructions in every run."""
    numbers = count(0x885C8680)
    # They name folders of this run, and the gauge counts them.
    told = "Answer questions about these files."
    monkeypatch.setattr(agents, "system_instructions", lambda *_, **__: told)
    monkeypatch.setattr(secrets, "token_hex", lambda _size: f"{next(numbers):08x}")

    async def list_models(**_: object) -> list[ModelChoice]:
        return CHOICES

    monkeypatch.setattr(catalogue, "list_models", list_models)


@pytest.fixture
def look(desk: Desk, fake_openai: FakeOpenAI, snap_compare: Compare) -> Callable[..., bool]:
    """Compare the screen of a stored session, after some keys, with its picture."""
    desk.serve(fake_openai).change(model=MODEL)

    def compare(size: tuple[int, int], story: Story | None, scene: Scene, theme: str = "") -> bool:
        if theme:
            desk.change(theme=theme)
        app = desk.app(desk.store(story) if story else "")

        async def play(pilot: "Pilot[Any]") -> None:
            deck = Deck(app, pilot)
            await deck.ready()
            await scene(deck)
            await deck.settle()

        return snap_compare(app, terminal_size=size, run_before=play)

    return compare


sizes = pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
lit = pytest.mark.parametrize(
    ("size", "theme"),
    [(WIDE, ""), (USUAL, ""), (WIDE, "plimsoll-light"), (USUAL, "plimsoll-light")],
    ids=["120x40", "80x24", "120x40-light", "80x24-light"],
)
looks = pytest.mark.parametrize(
    ("size", "theme"),
    [(WIDE, "plimsoll-dark"), (USUAL, "plimsoll-dark"), (WIDE, "plimsoll-light"), (USUAL, "plimsoll-light")],
    ids=["120x40-dark", "80x24-dark", "120x40-light", "80x24-light"],
)


async def nothing(deck: Deck) -> None:
    """As it opens."""


def opens(screen: type, *keys: str) -> Scene:
    async def scene(deck: Deck) -> None:
        await deck.press(*keys)
        await deck.until(lambda: isinstance(deck.app.screen, screen), screen.__name__)

    return scene


@lit
def test_first_run(desk: Desk, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = desk.change(theme=theme).app() if theme else desk.app()

    async def play(pilot: "Pilot[Any]") -> None:
        await Deck(app, pilot).ready()

    assert snap_compare(app, terminal_size=size, run_before=play)


@looks
def test_chat_with_tools(look: Compare, size: tuple[int, int], theme: str) -> None:
    assert look(size, talk(), nothing, theme)


def test_chat_at_40x12(look: Compare) -> None:
    assert look(SMALL, talk(), nothing)


@pytest.mark.parametrize(
    ("size", "share"),
    [(WIDE, 82), (WIDE, 97), (USUAL, 97)],
    ids=["120x40-82", "120x40-97", "80x24-97"],
)
def test_gauge(look: Compare, size: tuple[int, int], share: int) -> None:
    assert look(size, talk(128_000 * share // 100), nothing)


@lit
def test_compacting(look: Compare, fake_openai: FakeOpenAI, size: tuple[int, int], theme: str) -> None:
    fake_openai.add(HangBeforeHeaders())

    async def scene(deck: Deck) -> None:
        await deck.press("ctrl+g")
        await (await fake_openai.request(1)).paused.wait()
        await deck.says("Compacting conversation history")
        row = deck.app.chat.query_one(StatusRow)
        row._clock = lambda: row.status.started + 6
        row.refresh()

    assert look(size, Story("word by word").turns(6).answer("Six.", reported=91_500), scene, theme)


@lit
def test_compacted_entry(look: Compare, size: tuple[int, int], theme: str) -> None:
    assert look(size, compacted_talk(), nothing, theme)


@looks
def test_compacted_detail(look: Compare, size: tuple[int, int], theme: str) -> None:
    assert look(size, compacted_talk(), compaction, theme)


async def context_screen(deck: Deck) -> None:
    """With the results of reading files held against the files."""
    await opens(ContextScreen, "f3")(deck)
    screen = deck.app.screen
    assert isinstance(screen, ContextScreen)
    await deck.until(lambda: screen.compared, "the comparison")


@lit
def test_compaction_facts(look: Compare, size: tuple[int, int], theme: str) -> None:
    assert look(size, compacted_talk(), tab("tab-facts"), theme)


def reviewed(deck: Deck) -> bool:
    screen = deck.app.screen
    return isinstance(screen, ReviewScreen) and not screen.writing


@looks
def test_review(look: Compare, fake_openai: FakeOpenAI, size: tuple[int, int], theme: str) -> None:
    fake_openai.add(Text(DONE.summary, usage=(0, 0)))
    story = Story("word by word").turns(6).answer("Six.", reported=91_500)

    async def scene(deck: Deck) -> None:
        await deck.send("/compact --review")
        await deck.until(lambda: reviewed(deck), "the review")

    assert look(size, story, scene, theme)


@looks
def test_review_with_facts_at_risk(look: Compare, size: tuple[int, int], theme: str) -> None:
    async def scene(deck: Deck) -> None:
        deck.app.push_screen(ReviewScreen(proposed(DONE), clock=lambda: 0.0))
        await deck.until(lambda: reviewed(deck), "the review")
        await deck.press("tab", "tab")

    assert look(size, talk(), scene, theme)


@looks
def test_a_summary_while_it_is_written(look: Compare, size: tuple[int, int], theme: str) -> None:
    async def scene(deck: Deck) -> None:
        screen = ReviewScreen(None, job="j")
        await deck.app.push_screen(screen)
        text = DONE.summary[:120]
        screen.hear(CompactionProgress(job="j", part=2, parts=3, tokens_written=0, model=MODEL))
        screen.hear(CompactionProgress(job="j", part=2, parts=3, tokens_written=30, model=MODEL, text=text))
        await deck.until(lambda: screen.query_one(TextArea).text == text, "the text")

    assert look(size, talk(), scene, theme)


@looks
def test_summary_editor(look: Compare, size: tuple[int, int], theme: str) -> None:
    async def scene(deck: Deck) -> None:
        await compaction(deck)
        await opens(SummaryEditor, "e")(deck)
        await deck.press(*"Indeed. ", "tab")

    assert look(size, compacted_talk(), scene, theme)


@lit
def test_edited_compaction(look: Compare, size: tuple[int, int], theme: str) -> None:
    """With the row of the edit behind it, and the words it has now."""
    edit = CompactionEdited(
        compaction=10,
        summary=DONE.summary.replace("not handled yet", "next"),
        fact="batch size 250",
        tokens={"summary": 6_210},
        tokens_before=9_700,
        tokens_after=9_710,
        retention=1.0,
        facts=tuple(replace(fact, state="kept") for fact in DONE.facts),
    )
    story = compacted_talk().add(edit, ModelRequest(parts=[UserPromptPart(edit.summary)]))

    async def scene(deck: Deck) -> None:
        await compaction(deck)
        await deck.press("right_square_bracket")

    assert look(size, story, scene, theme)


@lit
def test_the_row_of_an_edit(look: Compare, size: tuple[int, int], theme: str) -> None:
    edit = CompactionEdited(
        compaction=10,
        summary="Other words.",
        tokens={"summary": 6_210},
        tokens_before=9_700,
        tokens_after=9_710,
    )
    story = compacted_talk().add(edit, ModelRequest(parts=[UserPromptPart(edit.summary)]))
    assert look(size, story, nothing, theme)


@lit
def test_switch_dialog(desk: Desk, look: Compare, size: tuple[int, int], theme: str) -> None:
    with FakeOpenAI(max_model_len=32_000) as dinghy:
        desk.serve(dinghy, window=None, name="dinghy")

        async def scene(deck: Deck) -> None:
            await deck.send("/model dinghy:scripted")
            await deck.until(lambda: isinstance(deck.app.screen, SwitchDialog), "the dialog")

        assert look(size, talk().turns(6, tokens=14_000).answer("Done.", reported=91_500), scene, theme)


@looks
def test_model_picker(look: Compare, size: tuple[int, int], theme: str) -> None:
    assert look(size, talk(91_500), opens(ModelPicker, "ctrl+l"), theme)


@sizes
def test_sessions(desk: Desk, look: Compare, size: tuple[int, int]) -> None:
    for title in (
        "Tide notes",
        "[/x] 潮汐表 for the harbour",
        "A name that is long enough to be cut off somewhere",
    ):
        desk.store(Story(title).user(title).answer("Noted.").measured(4_200))
    assert look(size, talk(), scenes.opens(SessionsScreen, command="/sessions"))


@looks
def test_search(desk: Desk, look: Compare, size: tuple[int, int], theme: str) -> None:
    desk.store(Story("潮汐表").user("Low water on Sunday, at the [b]harbour[/b]?").answer("Sunday: 09:40."))
    assert look(size, talk(), scenes.search, theme)


@sizes
def test_checkpoints(look: Compare, size: tuple[int, int]) -> None:
    assert look(size, talk().compacted(DONE), scenes.opens(CheckpointsScreen, command="/session checkpoints"))


@lit
def test_error(look: Compare, size: tuple[int, int], theme: str) -> None:
    story = Story("hello").user("hello")
    error = Error(
        kind="auth",
        message="The key for openai was refused.",
        hint="Set OPENAI_API_KEY to a valid key, then send again.",
        detail="401",
    )
    assert look(size, story.add(error), nothing, theme)


@sizes
def test_context(look: Compare, size: tuple[int, int]) -> None:
    assert look(size, compacted_talk(), context_screen)


@sizes
def test_stats(look: Compare, size: tuple[int, int]) -> None:
    story = compacted_talk().measured(9_000, kept=1.0).measured(9_700, kept=0.42)
    story.add(ToolTrimmed(tokens_removed=12_400)).add(
        replace(DONE, outcome="failed", reason="no", trigger="manual")
    )
    story.add(Error(kind="rate_limit", message="Too many requests."))
    assert look(size, story, scenes.opens(StatsScreen, command="/stats"))


def rewound() -> Story:
    story = talk()
    return (
        story.user("Now the holidays.")
        .answer("They are not handled yet.")
        .add(SessionRewind(to=story.seq - 1))
    )


@lit
def test_left_behind(look: Compare, size: tuple[int, int], theme: str) -> None:
    assert look(size, rewound(), nothing, theme)


@sizes
def test_rewind(look: Compare, size: tuple[int, int]) -> None:
    async def scene(deck: Deck) -> None:
        await deck.send("/rewind")
        await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")
        await deck.says("would leave")

    assert look(size, Story().turns(5), scene)


@lit
def test_filtered_timeline(look: Compare, size: tuple[int, int], theme: str) -> None:
    async def scene(deck: Deck) -> None:
        if size == USUAL:
            await deck.press("ctrl+t")
        deck.app.chat.pane.timeline.focus()
        await deck.press("f", "f", "f")

    assert look(size, compacted_talk(), scene, theme)


@looks
@pytest.mark.parametrize("part", ["left", "stayed", "numbers"])
def test_compaction_part(look: Compare, size: tuple[int, int], theme: str, part: str) -> None:
    assert look(size, compacted_talk(), tab(f"tab-{part}"), theme)


@lit
def test_compaction_diff(look: Compare, size: tuple[int, int], theme: str) -> None:
    async def scene(deck: Deck) -> None:
        await tab("tab-diff")(deck)
        await deck.says("+   # Intent")

    assert look(size, compacted_talk(), scene, theme)


@sizes
def test_help(look: Compare, size: tuple[int, int]) -> None:
    assert look(size, talk(), opens(HelpScreen, "question_mark"))


@sizes
def test_command_list(look: Compare, size: tuple[int, int]) -> None:
    async def scene(deck: Deck) -> None:
        await deck.press("slash")

    assert look(size, talk(), scene)


@lit
def test_file_list(desk: Desk, look: Compare, size: tuple[int, int], theme: str) -> None:
    write_files(desk.cwd, {"holidays of 2026.csv": "easter", "notes.md": "x" * 900, "[bold]odd.md": ""})

    async def scene(deck: Deck) -> None:
        await deck.type("Compare @notes.md with @")
        await deck.until(lambda: deck.app.chat.query_one(OfferList).is_open, "the list")
        await deck.until(lambda: deck.app.chat.query_one(AttachedRow).bundles, "what goes along")
        await deck.press("down", "down")

    assert look(size, talk(), scene, theme)


@lit
def test_attached(desk: Desk, look: Compare, size: tuple[int, int], theme: str) -> None:
    write_files(desk.cwd, {"notes.md": "x" * 900})

    async def scene(deck: Deck) -> None:
        await deck.type("Compare @notes.md and @gone.md with ")
        deck.editor.post_message(Paste("\n".join(f"row {number}" for number in range(63))))
        await deck.until(lambda: len(deck.app.chat.query_one(AttachedRow).bundles) == 3, "what goes along")

    assert look(size, talk(), scene, theme)


@sizes
def test_earlier_prompts(desk: Desk, look: Compare, size: tuple[int, int]) -> None:
    desk.store(Story("tides", cwd=str(desk.cwd)).user("Compare\nthe [b]tides[/b]").answer("Done."))
    desk.store(Story("ferry", cwd=str(desk.cwd)).user("When does the ferry leave? " * 12).answer("At ten."))
    assert look(size, talk(), opens(PromptsScreen, *"draft", "ctrl+r"))


@sizes
def test_queue(look: Compare, size: tuple[int, int]) -> None:
    async def scene(deck: Deck) -> None:
        session = deck.app.chat.session
        waiting = ("second, which is longer " * 8, "third\nwith [b]two[/b] lines", "/compact")
        session.presenter.update(replace(session.state, queue=waiting, paused=True))
        await scenes.opens(QueueScreen, command="/queue")(deck)
        await deck.press("down")

    assert look(size, talk(), scene)


def test_plain(desk: Desk, look: Compare) -> None:
    desk.change(plain=True)
    assert look(WIDE, compacted_talk(), nothing)


@looks
def test_pins(look: Compare, size: tuple[int, int], theme: str) -> None:
    story = talk().add(MessagePinned(seq=2)).add(MessagePinned(seq=9))
    assert look(size, story, scenes.opens(PinsScreen, command="/pin"), theme)


@looks
@pytest.mark.parametrize("outcome", ["undone", "cancelled", "failed"])
def test_compaction_that_does_not_stand(
    look: Compare, size: tuple[int, int], theme: str, outcome: Literal["undone", "cancelled", "failed"]
) -> None:
    story = talk()
    if outcome == "undone":
        story = story.compacted(DONE).add(
            CompactionUndone(compaction=10, tokens_before=6_200, tokens_after=91_500)
        )
    else:
        reason = "" if outcome == "cancelled" else "the model answered nothing"
        story = story.add(replace(DONE, outcome=outcome, reason=reason, facts=(), removed=()))

    async def scene(deck: Deck) -> None:
        if not deck.app.chat.pane.timeline.display:
            await deck.press("ctrl+t")
        deck.app.chat.pane.timeline.focus()

    assert look(size, story, scene, theme)
