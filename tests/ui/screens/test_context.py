"""The context screen: rows with totals, every item of the next request, and the effect of each key."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, Static, TabbedContent, TextArea

from tests.ui.kit import ThemedApp
from tui_app.agent.mcp.status import McpStatus, McpTool
from tui_app.conversation.message_actions import Move, Outlook, Share
from tui_app.conversation.work import Pin, Relieve, Restore, Work
from tui_app.events import PrefixBreak, SentPart
from tui_app.session.event_rows import MessageKind
from tui_app.session.figures.receipts import Receipt
from tui_app.session.figures.request_ledger import ItemState, LedgerRow
from tui_app.session.stats_rows import StageRow
from tui_app.ui.context.context_words import ContextView, forecast, limits, outlook_text, tool_lines
from tui_app.ui.context.receipts import ReceiptList
from tui_app.ui.context.request_ledger import KINDS, STATES, Columns, LedgerList, arranged, ledger_row
from tui_app.ui.dialogs.compactions.context import FIXED, NOTHING_MARKED, ContextScreen
from tui_app.ui.dialogs.extensions.mcp import McpScreen, mcp_note
from tui_app.ui.dialogs.extensions.mcp import rows_of as mcp_rows
from tui_app.ui.panels.window_bar import category_legend, category_rows, category_text, window_bar
from tui_app.ui.widgets.lists import RowList
from tui_app.ui.widgets.tables import Table
from tui_app.ui.words.glyphs import UNICODE
from tui_app.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow

USAGE = ContextUsage(
    parts=Breakdown(system=2_100, tools=4_800, user=3_000, assistant=14_200, tool_results=60_900),
    window=ContextWindow(limit=128_000, source="model", reserve=8_000),
    messages=212,
    unmeasured=500,
)
ITEMS = tuple(
    LedgerRow(
        tokens=18_300 - n,
        age=40 - n,
        kind="tool_result" if n % 2 else "user",
        title=f"[/x] pytest {n}",
        seq=142 + n,
    )
    for n in range(30)
)
TOOLS = LedgerRow(seq=-1, tokens=4_800, age=0, kind="tools", title="definitions of all tools", state="stays")
OUTLOOK = Outlook(
    seq=1,
    archive=Move(60_000, freed=25_500),
    offload=Move(refused="This result is in a file already."),
    restore=Move(90_000, freed=-4_500),
    exclude=Move(refused="The newest prompt stays."),
    floor=11_200,
    pinned=3_100,
    pin_budget=25_600,
)
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
VIEW = ContextView(
    usage=USAGE,
    rows=ITEMS,
    turns_left=3,
    saved=(StageRow(stage="offload", count=2, tokens_removed=44_000), StageRow(stage="trim", count=1)),
    outlook=OUTLOOK,
)


@dataclass
class Source:
    """Stand-in for a session, the screen's data source."""

    view: ContextView = VIEW
    version: int = 0
    see: Callable[[], None] = lambda: None

    def follow(self, _screen: object, see: Callable[[], None]) -> None:
        self.see = see

    def tell(self, view: ContextView) -> None:
        """Publish an event that the screen shows."""
        self.view, self.version = view, self.version + 1
        self.see()

    asked: list[Work] = field(default_factory=list)
    read_only: str = ""

    async def read(self) -> ContextView:
        return self.view

    stale_files: dict[int, str] = field(default_factory=dict)

    async def outlook(self, *seqs: int) -> Outlook:
        return replace(self.view.outlook, seq=seqs[0], seqs=seqs)

    async def sizes(self, asked: int) -> dict[str, int]:
        return {"system": 2_100, "tools": 4_800, "limit": 64_000} if asked else {}

    async def stale(self) -> dict[int, str]:
        return self.stale_files

    def note(self, form: tuple[int, int]) -> str:
        return "tool_outputs/grep_1.txt" if form[0] else ""

    cancelled: int = 0

    def cancel_compaction(self) -> None:
        self.cancelled += 1

    def submit(self, work: Work) -> str:
        self.asked.append(work)
        return self.read_only


class Host(ThemedApp):
    def __init__(self, screen: ContextScreen) -> None:
        super().__init__()
        self._first = screen
        self.results: list[object] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self._first, self.results.append)


async def test_what_the_next_turn_costs_has_a_row_only_where_it_is_known() -> None:
    said = "next turn $0.02 warm, $0.19 cold · warm until 14:32; the last request missed the cache: a pause"
    for text in (said, ""):
        screen = ContextScreen(Source(), replace(VIEW, cache=text))
        async with Host(screen).run_test(size=(100, 30)):
            row = screen.query_one("#context-cache", Static)
            assert (str(row.content), row.display) == (text, bool(text))


@given(
    figures=st.lists(st.integers(0, 10**7), min_size=len(CATEGORIES), max_size=len(CATEGORIES)),
    unmeasured=st.integers(0, 10**6),
)
def test_rows_always_sum_to_the_total(figures: list[int], unmeasured: int) -> None:
    parts = Breakdown(**dict(zip(CATEGORIES, figures, strict=True)))
    usage = replace(USAGE, parts=parts, unmeasured=unmeasured)
    assert sum(row.tokens for row in category_rows(usage)) == usage.total


@given(
    figures=st.lists(st.integers(0, 10**6), min_size=len(CATEGORIES), max_size=len(CATEGORIES)),
    width=st.integers(8, 200),
    load_lines=st.tuples(st.floats(0, 1.2), st.floats(0, 1.2)),
)
def test_the_bar_is_as_wide_as_it_should_be_whatever_it_shows(
    figures: list[int], width: int, load_lines: tuple[float, float]
) -> None:
    usage = replace(USAGE, parts=Breakdown(**dict(zip(CATEGORIES, figures, strict=True))))
    bar, names = window_bar(usage, width, load_lines).plain.split("\n")
    assert len(bar) == width
    assert len(names) >= width or not names.strip()


def test_the_bar_shows_what_fills_the_window_and_where_it_is_compacted() -> None:
    bar, names = window_bar(USAGE, 100, (0.8, 0.95)).plain.split("\n")
    used, free = bar.split(UNICODE.load_mark)[0], bar.split(UNICODE.load_mark)[2]
    assert used.count("█") == round(100 * USAGE.total / USAGE.window.stated)
    assert len(used) == 80
    assert free == "█" * 4, "what is kept for the answer"
    assert names.rstrip().endswith("waits at 95%")
    assert names.index("compacts at 80%") + len("compacts at 80%") == 81
    told = window_bar(USAGE, 100, (0.8, 0.95), coloured=False).plain
    assert "▓" in told, "signs tell them apart where colours do not"


def test_what_no_category_explains_is_named() -> None:
    assert [row.name for row in category_rows(USAGE)][-1] == "not measured"
    text = category_legend(USAGE).plain
    assert "not measured   0.5k" in text
    assert "total         85.5k" in text


@pytest.mark.parametrize(("size", "told"), [(1_210, ""), (900, "  memory (AGENTS.md 0.9k)")])
def test_the_only_file_of_the_memory_is_named_where_its_size_is_another(size: int, told: str) -> None:
    usage = replace(USAGE, parts=Breakdown(memory=1_240), unmeasured=0)
    legend = category_legend(usage, (Share("memory", "AGENTS.md", size),)).plain
    assert [line for line in legend.split("\n") if line.startswith("  memory")] == [told] * bool(told)


def words(pilot: Pilot[None]) -> str:
    heads = [each.rows.render_line(0).text for each in pilot.app.screen.query(LedgerList)]
    return "\n".join([*(str(widget.render()) for widget in pilot.app.screen.query(Static)), *heads])


def painted(pilot: Pilot[None]) -> list[str]:
    rows = pilot.app.screen.query_one(LedgerList).rows
    return [rows.render_line(y).text.rstrip() for y in range(1, rows.size.height)]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_enter_names_the_message_to_show(size: tuple[int, int]) -> None:
    app = Host(ContextScreen(Source(), VIEW))
    async with app.run_test(size=size) as pilot:
        heads = words(pilot)
        assert "Context  67% of 128k · ~85.5k · ok" in heads
        if size == (80, 24):
            assert "212 messages · reserve 8k · compacts at 80% (in about 3 turns)" in heads
        else:
            rows = [row for row in heads.split("\n") if "█" in row]
            assert rows[1].endswith(" reserve 8k · at least 11.2k always stays")
            assert rows[2].endswith(" free before the first line 16.9k")
            assert rows[3].endswith(" compacts in about 3 turns")
        assert "pinned 3.1k of 25.6k" in heads
        assert "at least 11.2k always stays" in heads
        tabs = app.screen.query_one(TabbedContent)
        assert str(tabs.get_tab("tab-saved").label) == "Saved 44.0k"
        assert app.screen.query_one("#dialog-hints").region.bottom <= size[1]
        assert painted(pilot)[0].split()[:6] == ["▸", "18.3k", "40", "user", "▐", "[/x]"]
        assert painted(pilot)[0].endswith("#142")
        await pilot.press("down", "enter")
        assert app.results == [143]


@pytest.mark.parametrize("usage", [USAGE, None])
async def test_a_question_that_waits_in_the_chat_is_said(usage: ContextUsage | None) -> None:
    told = "a tool waits for your answer: esc goes back to it"
    source = Source(replace(VIEW, usage=usage))
    app = Host(ContextScreen(source, source.view))
    async with app.run_test(size=(80, 24)) as pilot:
        assert told not in words(pilot)
        source.tell(replace(source.view, asking=True))
        while told not in words(pilot):
            await pilot.pause()
        source.tell(replace(source.view, asking=False))
        while told in words(pilot):
            await pilot.pause()


@pytest.mark.parametrize("key", ["escape", "f3"])
async def test_nothing_known_is_said_and_closes(key: str) -> None:
    empty = ContextView()
    app = Host(ContextScreen(Source(empty), empty))
    async with app.run_test(size=(80, 24)) as pilot:
        assert "Context  loading model …" in words(pilot)
        await pilot.press("enter", "p", "a", "s", key)
        assert app.results == [None]


@pytest.mark.parametrize(
    ("key", "work"),
    [
        ("p", Pin(143)),
        ("a", Relieve(143, "archive")),
        ("u", Restore(7)),
        ("r", Restore(7)),
    ],
)
async def test_each_key_asks_for_one_thing_with_the_marked_item(key: str, work: Work) -> None:
    rows = tuple(replace(row, form=(7, 0), state="offloaded") for row in ITEMS)
    source = Source(replace(VIEW, rows=rows))
    async with Host(ContextScreen(source, source.view)).run_test(size=(120, 40)) as pilot:
        assert painted(pilot)[0].endswith("in grep_1.txt  #142")
        await pilot.press("down", key)
        assert source.asked == [work]
        assert "it runs when the current work ends" in words(pilot)


async def test_marked_items_are_one_wish() -> None:
    source = Source()
    async with Host(ContextScreen(source, VIEW)).run_test(size=(120, 40)) as pilot:
        chosen = [row.seq for row in VIEW.rows]
        await pilot.press("space", "space", "a")
        first, *others = chosen[:2]
        assert source.asked == [Relieve(first, "archive", tuple(others))]


async def test_a_pinned_item_is_unpinned() -> None:
    source = Source(replace(VIEW, rows=(replace(ITEMS[0], pinned=True), *ITEMS[1:])))
    async with Host(ContextScreen(source, source.view)).run_test(size=(120, 40)) as pilot:
        assert painted(pilot)[0].endswith("pinned  #142")
        await pilot.press("p")
        assert source.asked == [Pin(142, pinned=False)]


async def test_what_makes_no_sense_is_said_and_not_asked_for() -> None:
    source = Source()
    async with Host(ContextScreen(source, VIEW)).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "this row   a frees 25.5k, down to 47%   u adds 4.5k, up to 70%" in words(pilot)
        await pilot.press("o")
        assert source.asked == []
        assert "This result is in a file already." in words(pilot)


async def test_a_session_that_is_only_shown_says_so() -> None:
    source = Source(replace(VIEW, outlook=Outlook()), read_only="Another window writes it.")
    async with Host(ContextScreen(source, source.view)).run_test(size=(80, 24)) as pilot:
        await pilot.press("a")
        assert "Another window writes it." in words(pilot)


async def test_with_nothing_in_the_list_a_key_says_why_it_does_nothing() -> None:
    source = Source()
    async with Host(ContextScreen(source, VIEW)).run_test(size=(120, 40)) as pilot:
        await pilot.press("slash", *"nowhere", "enter")
        await pilot.press("u")
        assert source.asked == []
        assert NOTHING_MARKED in words(pilot)


async def test_what_goes_with_every_request_is_a_row_that_no_key_changes() -> None:
    source = Source(replace(VIEW, rows=(replace(TOOLS, tokens=20_000), *ITEMS)))
    async with Host(ContextScreen(source, source.view)).run_test(size=(120, 40)) as pilot:
        row = " ".join(painted(pilot)[0].split())
        assert row == "20.0k tools definitions of all tools stays"
        await pilot.press("up")
        for key in ("p", "x", "o", "a", "u", "enter"):
            await pilot.press(key)
            assert source.asked == []
            assert FIXED in words(pilot)
        await pilot.press("home", "space", "a")
        assert source.asked == [Relieve(142, "archive")], "it is not marked along"


async def test_words_narrow_the_list_and_esc_ends_the_search_first() -> None:
    app = Host(ContextScreen(Source(), VIEW))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"#149")
        assert "1 of 30 with '#149'" in words(pilot)
        assert [row.split()[-1] for row in painted(pilot) if row] == ["#149"]
        await pilot.press("enter", "s", "s")
        assert "(by kind)   1 of 30" in words(pilot)
        await pilot.press("escape")
        assert not app.screen.query_one(Input).display
        assert "1 of 30" not in words(pilot)
        await pilot.press("escape")
        assert app.results == [None]


async def test_news_are_shown_and_the_mark_stays_on_its_item() -> None:
    source = Source()
    app = Host(ContextScreen(source, VIEW))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("down", "down")
        ledger = app.screen.query_one(LedgerList)
        assert ledger.marked == ITEMS[2]
        changed = replace(ITEMS[2], tokens=5, state="archived", kind="tool_result_archived")
        source.tell(replace(VIEW, rows=(*ITEMS[:2], changed, *ITEMS[3:]), turns_left=9))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "in about 9 turns" in words(pilot)
        assert ledger.marked == changed
        assert ledger.rows.cursor == len(ITEMS) - 1, "it is the smallest now"


async def test_thousands_of_items_are_painted_a_window_at_a_time() -> None:
    asked: list[tuple[int, int]] = []

    class Counting(Source):
        def note(self, form: tuple[int, int]) -> str:
            asked.append(form)
            return ""

    rows = tuple(replace(ITEMS[0], seq=n, form=(n, 0)) for n in range(20_000))
    source = Counting(replace(VIEW, rows=rows))
    app = Host(ContextScreen(source, source.view))
    async with app.run_test(size=(80, 24)) as pilot:
        assert len(list(app.screen.query("*"))) < 40
        await pilot.press("end")
        assert painted(pilot)[-1].endswith("#19999")
    assert max(number for number, _ in asked) == 19_999
    assert len({number for number, _ in asked}) < 100


@given(
    st.lists(
        st.builds(
            LedgerRow,
            seq=st.integers(1, 99),
            tokens=st.integers(0, 9_999),
            age=st.integers(1, 9),
            kind=st.sampled_from(sorted(KINDS)),
            title=st.text(max_size=9),
        )
    )
)
def test_ordering_loses_nothing(rows: list[LedgerRow]) -> None:
    by_tokens = arranged(rows, "tokens", "")
    assert [row.tokens for row in by_tokens] == sorted((row.tokens for row in rows), reverse=True)
    assert arranged(rows, "age", "") == rows
    kinds = [KINDS[row.kind] for row in arranged(rows, "kind", "  ")]
    assert kinds == sorted(KINDS[row.kind] for row in rows)


def test_a_forecast_says_nothing_it_does_not_know() -> None:
    assert forecast(None) == ""
    assert [forecast(turns) for turns in (0, 1, 3, 100)] == [
        "with the next request", "in about 1 turn", "in about 3 turns", "in more than 99 turns",
    ]  # fmt: skip
    assert "compacts at 80% ·" in limits(replace(VIEW, turns_left=None))


def test_a_compaction_under_way_stands_where_the_forecast_was() -> None:
    line = limits(replace(VIEW, compacting="compacting in the background: c cancels it"))
    assert "compacting in the background: c cancels it" in line
    assert "compacts at" not in line


def test_taking_back_says_how_much_comes_back() -> None:
    assert outlook_text(USAGE, OUTLOOK, 7).endswith("u adds 4.5k, up to 70%, all 7 items of that step")
    nothing = Move(refused="Only results.")
    refused = replace(OUTLOOK, archive=nothing, offload=nothing, restore=nothing)
    assert outlook_text(USAGE, refused, 0) == ""
    assert outlook_text(USAGE, Outlook(), 0) == ""


def test_categories_in_few_words() -> None:
    words = category_text(USAGE, 30).plain
    assert words.startswith("█ system 2.1k  █ tools ")
    assert all(len(row) <= 30 and row.startswith("█ ") for row in words.split("\n")), "no pair is broken"


def test_every_kind_of_message_has_a_name_that_fits_its_column() -> None:
    assert set(KINDS) == {*get_args(MessageKind), "tools"}
    assert all(0 < len(name) <= 12 for name in KINDS.values())
    assert set(STATES) == {state for kinds in get_args(ItemState) for state in get_args(kinds)}


async def test_a_tiny_terminal_keeps_items_and_keys() -> None:
    app = Host(ContextScreen(Source(), VIEW))
    async with app.run_test(size=(40, 12)):
        screen = app.screen
        assert isinstance(screen, ContextScreen)
        assert screen.query_one("#context-items").region.height >= 4
        assert screen.key_row.region.bottom <= 12
        assert "esc" in str(screen.key_row.render())


def test_columns_stand_below_one_another_and_narrow_ones_say_what_an_item_is() -> None:
    rows = [
        LedgerRow(tokens=1, age=1, kind="user", title="When is low tide?", seq=seq, state="latest")
        for seq in (8, 120)
    ]
    wide, narrow = Columns(118, 4), Columns(38, 4)
    rights = [ledger_row(row, "", wide).right for row in rows]
    assert [right.index("latest") for right in rights] == [0, 0]
    assert len({len(right) for right in rights}) == 1
    assert [ledger_row(row, "", narrow).text.split(maxsplit=2)[2] for row in rows] == [
        "When is low tide?"
    ] * 2
    assert ledger_row(rows[1], "", narrow).right == "#120"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_compaction_is_cancelled_where_it_is_shown(size: tuple[int, int]) -> None:
    source = Source(replace(VIEW, compacting="compacting in the background: c cancels it"))
    app = Host(ContextScreen(source, source.view))
    async with app.run_test(size=size) as pilot:
        screen = app.screen
        assert isinstance(screen, ContextScreen)
        hints = str(screen.key_row.render())
        assert hints.startswith("c cancel ")
        assert "left/right tabs" in hints, "the other tabs are found meanwhile"
        await pilot.press("c")
        assert source.cancelled == 1
        assert app.screen is screen


def test_what_stays_along_with_pins_is_said() -> None:
    view = replace(VIEW, outlook=replace(OUTLOOK, pinned_along=400))
    assert "pinned 3.1k of 25.6k (0.4k of it goes with them) · at least" in limits(view)


def keys_of(screen: ContextScreen) -> list[str]:
    return [str(hint) for hint in screen.key_row.hints]


async def test_the_last_row_names_the_keys_that_act_where_the_focus_is() -> None:
    app = Host(ContextScreen(Source(), VIEW))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, ContextScreen)
        items = keys_of(screen)
        assert {"p pin", "o offload", "a archive", "u restore", "/ search", "esc close"} <= set(items)
        await pilot.press("slash", "p", "o")
        assert keys_of(screen) == ["enter to the items", "esc end the search"]
        await pilot.press("enter")
        assert keys_of(screen) == [*items[:-1], "esc end the search"]
        await pilot.press("escape")
        assert keys_of(screen) == items


async def test_a_session_that_is_only_looked_at_offers_nothing_that_changes_it() -> None:
    app = Host(ContextScreen(Source(), replace(VIEW, locked=True)))
    async with app.run_test(size=(120, 40)):
        screen = app.screen
        assert isinstance(screen, ContextScreen)
        assert keys_of(screen) == [
            "enter show",
            "s order",
            "/ search",
            "left/right tabs",
            "esc close",
        ]


async def test_the_parts_say_what_is_sent_next_what_was_saved_and_what_tools_take() -> None:
    shares = (Share("tools", "plimsoll", 3_000), Share("tools", "harbour", 1_800))
    view = replace(VIEW, shares=shares, cached=40_000, rows=(TOOLS, *ITEMS))
    source = Source(view)
    app = Host(ContextScreen(source, view))
    async with app.run_test(size=(120, 40)) as pilot:
        said = {}
        for part in ("next", "saved", "tools"):
            await pilot.press("right", *(["right"] if part == "saved" else []))
            area = app.screen.query_one(f"#context-{part}", TextArea)
            assert app.screen.focused is area
            said[part] = [" ".join(line.split()) for line in area.text.splitlines()]
            await pilot.press("a")
        assert said["next"][2] == "4.8k 4.8k cached tools definitions of all tools"
        assert said["next"][3] == "18.3k 23.1k cached user [/x] pytest 0"
        assert said["next"][5].startswith("18.3k 59.7k user"), "behind what the cache holds"
        assert said["saved"][2:] == ["44.0k 2× offload"]
        assert said["tools"][2:4] == ["3.0k plimsoll", "1.8k harbour"]
        assert source.asked == [], "no key acts on an item that cannot be seen"
        await pilot.press("right_square_bracket", "a")
        await pilot.pause()
        assert source.asked


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_what_is_sent_next_is_cut_with_a_mark_where_it_has_no_room(size: tuple[int, int]) -> None:
    rows = tuple(replace(row, title=f"{row.title} {'word ' * 40}end") for row in ITEMS)
    view = replace(VIEW, cached=40_000, rows=rows)
    app = Host(ContextScreen(Source(view), view))
    async with app.run_test(size=size) as pilot:
        await pilot.press("right")
        area = app.screen.query_one("#context-next", TextArea)
        room = area.scrollable_content_region.width
        lines = area.text.splitlines()[2:]
        assert len(lines) == len(rows)
        assert all(line.endswith("…") for line in lines)
        assert max(map(len, lines)) <= room


def test_tools_that_are_found_by_searching_say_what_they_save() -> None:
    shares = (Share("tools", "Plimsoll", 4_000), Share("tools", "tracker", 800, 9_800))
    text = tool_lines(USAGE, shares)
    assert "0.8k  tracker · 9.8k saved, found by searching" in text
    assert "Plimsoll ·" not in text
    seen = McpTool(name="tracker_search", description="Search.", tokens=800)
    hidden = McpTool(name="tracker_close", description="Close.", tokens=9_800, deferred=True)
    server = McpStatus(name="tracker", state="ready", tools=(seen, hidden))
    assert (server.tokens, server.saved) == (800, 9_800)
    rows = [Table(McpScreen.SPEC.columns).line(row, 100).plain for row in mcp_rows((server,))]
    assert ["by search" in row for row in rows] == [False, False, True]
    notes = "\n".join(mcp_note(row) for row in mcp_rows((server,)))
    assert "9,800 tokens of each request saved" in notes
    assert "9,800 tokens saved until the model finds it" in notes
    assert "\n800 tokens of each request" in notes


REQUESTS = tuple(
    Receipt(
        seq=9 + 3 * n, asked=8 + 3 * n, time=0.0, kind="answer", title=f"after pytest {n}", model="m",
        messages=4, input_tokens=89_000, cache_read_tokens=6_900 if n == 1 else 88_000, cost_usd=0.27,
        lost_usd=0.241, cause="front" if n == 1 else "",
        broken_by="AGENTS.md changed, byte 1,204" if n == 1 else "",
        broken=PrefixBreak(part="AGENTS.md", how="changed", byte=1_204, line=31) if n == 1 else None,
        parts=(SentPart(name="tools", tokens=4_800, hash="a", count=23),), prefix_kept=1.0,
    )
    for n in range(3)
)  # fmt: skip


async def test_requests_are_a_list_with_what_broke_each_and_the_bill() -> None:
    app = Host(ContextScreen(Source(), replace(VIEW, receipts=REQUESTS, bill="3 requests")))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.click("#--content-tab-tab-requests")
        await pilot.pause()
        requests = app.screen.query_one(ReceiptList)
        assert requests.marked is REQUESTS[-1]
        await pilot.press("down")
        await app.workers.wait_for_complete()
        rows = requests.query_one(RowList)
        shown = [rows.render_line(y).text for y in range(4)]
        assert " ".join(shown[0].split()) == "# request sent from cache price what broke the prefix"
        assert "after pytest 1" in shown[2]
        assert shown[2].rstrip().endswith("AGENTS.md changed, byte 1,204")
        note = str(requests.query_one(Static).render())
        assert "$0.27, $0.029 had the prefix held" in note
        assert "prefix broken by: AGENTS.md changed, byte 1,204, line 31" in note
        assert "in front of the messages: tools 4.8k (23)" in note
        bar = note.split("\n")[1]
        assert len(bar) == requests.query_one(Static).content_size.width == 114
        assert bar.split("─")[0] == "█" * 12, "6.9k of the 64k that this model held"
        assert "3 requests" in words(pilot)
        assert app.screen.query_one("#dialog-hints").hints[0].label == "enter"
        assert "o what broke it   c copy as JSON" in str(app.screen.query_one("#dialog-hints").render())
        await pilot.press("c")
        await app.workers.wait_for_complete()
        assert json.loads(app.clipboard)["seq"] == REQUESTS[1].seq
        assert json.loads(app.clipboard)["sizes"]["tools"] == 4_800
        await pilot.press("o")
        await pilot.pause()
        assert "no row of the conversation broke it" in str(app.screen.query_one("#dialog-hints").render())
        await pilot.press("enter")
        assert app.results == [REQUESTS[1].seq]


async def test_what_broke_a_request_is_shown_and_the_key_that_copies_cancels_a_compaction_first() -> None:
    broken = replace(REQUESTS[-1], broken_by="the compaction, #9", source=9, title=f"after {SECRET}")
    source, view = Source(), replace(VIEW, receipts=(broken,))
    app = Host(ContextScreen(source, view))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("right", "right", "c")
        await app.workers.wait_for_complete()
        assert SECRET not in app.clipboard
        assert "after " in app.clipboard
        source.tell(replace(view, compacting="compacting now: c cancels it"))
        await app.workers.wait_for_complete()
        await pilot.press("c")
        assert source.cancelled == 1
        await pilot.press("o")
        assert app.results == [9]
