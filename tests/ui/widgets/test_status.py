"""The status row shows what is running, since when, and what Esc does; the clock stops when idle."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tests.ui.kit import ThemedApp
from tui_app.events import CompactionComplete
from tui_app.session.figures.costs import Costs
from tui_app.ui.panels.header import ChatHeader
from tui_app.ui.panels.queue_view import Draft, QueueView, Waiting
from tui_app.ui.panels.status import READ_ALONG, Kind, Status, StatusRow, fit_pieces

COMPACTING = Status(
    kind="compacting", started=100.0, tokens=1_200, trigger="manual", part=2, parts=3, model="gpt-5-mini"
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


INSET = 6
"""Cells to the left and right of the row's text."""


class Rows(ThemedApp):
    def __init__(self) -> None:
        super().__init__()
        self.time = Clock()

    def compose(self) -> ComposeResult:
        yield ChatHeader()
        yield StatusRow(clock=self.time)
        yield QueueView()


def said(app: App[None], sign: str | None = None) -> str:
    """The row's text, after the sign left of the first line."""
    lines = app.query_one(StatusRow).render().plain.split("\n")
    assert all(line[:2].strip() in ("", sign or lines[0][0]) for line in lines)
    return "\n".join(line[2:] for line in lines)


@pytest.mark.parametrize(
    ("status", "left", "right"),
    [
        (Status(kind="answering", started=94.0, tokens=214), "Answering · 6 s · 214 tokens", "esc stops"),
        (Status(kind="connecting", started=98.0, model="m"), "Connecting to m · 2 s", "esc stops"),
        (Status(kind="tool", text="grep", started=100.0), "Running grep · 0 s", "esc stops"),
        (
            Status(
                kind="pausing",
                started=98.0,
                wait_s=5.2,
                text="The provider of m is overloaded (HTTP 529).",
                notes=("try 2 of 5",),
            ),
            "Trying again in 4 s · try 2 of 5 · The provider of m is overloaded (HTTP 529).",
            "esc stops",
        ),
        (
            COMPACTING,
            "Compacting conversation history · manual · part 2 of 3 · 1,200 tokens · 0 s · gpt-5-mini",
            "esc cancels",
        ),
        (
            replace(COMPACTING, parts=0, model="", size=13_600, stays=4_600),
            "Compacting conversation history · manual · 13.6k · then 4.6k + summary · 1,200 tokens · 0 s",
            "esc cancels",
        ),
        (
            replace(COMPACTING, size=13_600, stays=4_600),
            "Compacting conversation history · manual · 13.6k · part 2 of 3 · 1,200 tokens · 0 s · gpt-5",
            "esc cancels",
        ),
        (
            Status(kind="message", text="Compaction cancelled. Nothing changed."),
            "Compaction cancelled. Nothing changed.",
            "",
        ),
    ],
)
async def test_words(status: Status, left: str, right: str) -> None:
    app = Rows()
    async with app.run_test(size=(120 + INSET, 5)):
        app.query_one(StatusRow).status = status
        assert said(app).startswith(left)
        assert said(app).rstrip().endswith(right or left)
        assert len(said(app)) == 120


async def test_narrow_rows_leave_out_whole_pieces_and_keep_time_and_escape() -> None:
    app = Rows()
    async with app.run_test(size=(80 + INSET, 5)) as pilot:
        app.query_one(StatusRow).status = COMPACTING
        whole = "Compacting conversation history · part 2 of 3 · 1,200 tokens · 0 s"
        assert said(app).startswith(whole)
        await pilot.resize_terminal(76 + INSET, 5)
        await pilot.pause()
        told = "Compacting · manual · part 2 of 3 · 1,200 tokens · 0 s"
        assert said(app).startswith(told), "its figures go before its whole name"
        await pilot.resize_terminal(60 + INSET, 5)
        await pilot.pause()
        assert said(app).startswith("Compacting · part 2 of 3 · 1,200 tokens · 0 s")
        assert said(app).endswith("esc cancels")
        await pilot.resize_terminal(40 + INSET, 5)
        await pilot.pause()
        assert said(app).startswith("Compacting · 0 s")
        assert "…" not in said(app)


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (120, "Trying again in 4 s · try 2 of 5 · The provider of m is overloaded (HTTP 529)."),
        (80, "Trying again in 4 s · try 2 of 5 · The provider of m is overloaded (…"),
        (60, "Trying again in 4 s · The provider of m is overl…"),
        (40, "Again in 4 s · The provider…"),
    ],
)
async def test_a_pause_says_why_as_far_as_there_is_room(width: int, text: str) -> None:
    app = Rows()
    async with app.run_test(size=(width + INSET, 5)):
        app.query_one(StatusRow).status = Status(
            kind="pausing",
            started=98.0,
            wait_s=5.2,
            notes=("try 2 of 5",),
            text="The provider of m is overloaded (HTTP 529).",
        )
        assert said(app).partition("esc stops")[0].rstrip() == text


@pytest.mark.parametrize("width", [80, 56, 40, 30])
async def test_what_escape_does_is_never_cut(width: int) -> None:
    app = Rows()
    kinds: Sequence[Kind] = ("answering", "connecting", "compacting")
    async with app.run_test(size=(width + INSET, 5)):
        row = app.query_one(StatusRow)
        for kind in kinds:
            row.status = Status(kind=kind, started=94.0, tokens=214, model="harbour:scripted")
            assert said(app).endswith(" esc cancels" if kind == "compacting" else " esc stops")
            assert len(said(app)) == width


class Ticker:
    """A timer that only records whether it runs."""

    def __init__(self, *, runs: bool) -> None:
        self.runs = runs

    def resume(self) -> None:
        self.runs = True

    def pause(self) -> None:
        self.runs = False


async def test_time_passes_only_while_something_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tickers: list[Ticker] = []

    def ticker(_row: StatusRow, _seconds: float, _call: object, *, pause: bool) -> Ticker:
        tickers.append(Ticker(runs=not pause))
        return tickers[-1]

    monkeypatch.setattr(StatusRow, "set_interval", ticker)
    app = Rows()
    async with app.run_test(size=(80, 5)):
        row = app.query_one(StatusRow)
        [tick] = tickers
        assert not tick.runs
        row.status = Status(kind="answering", started=100.0)
        assert tick.runs
        app.time.now = 107.0
        assert "7 s" in said(app)
        row.status = Status()
        assert not tick.runs
        assert said(app).strip() == ""


async def test_text_is_never_markup_nor_control_characters() -> None:
    app = Rows()
    async with app.run_test(size=(80, 5)) as pilot:
        app.query_one(StatusRow).status = Status(kind="message", text="[/x] \x1b[31mred\nnext")
        await pilot.pause()
        assert said(app).rstrip() == "[/x] red next"
        header = app.query_one(ChatHeader)
        header.title, header.model = "[bold]t\x07", "[/m]"
        await pilot.pause()
        assert header.render().plain.startswith("⊖ [bold]t ")


async def test_header_keeps_the_model_when_it_is_narrow() -> None:
    app = Rows()
    async with app.run_test(size=(120, 5)) as pilot:
        header = app.query_one(ChatHeader)
        header.title, header.model, header.policy = "ferry", "claude-sonnet-5", "plimsoll"
        header.costs = Costs(usd=0.42)
        assert header.render().plain.endswith("claude-sonnet-5 · plimsoll · $0.42")
        await pilot.resize_terminal(40, 5)
        await pilot.pause()
        assert header.render().plain.endswith("  claude-sonnet-5")
        assert len(header.render().plain) == 36


async def test_the_folder_leaves_the_header_before_the_title_is_cut_to_a_few_words() -> None:
    app = Rows()
    async with app.run_test(size=(80, 5)) as pilot:
        header = app.query_one(ChatHeader)
        header.title, header.model = "Compare both implementations for gaps", "vllm:coder-16k"
        header.place, header.policy = "~/ferry-timetable (main)", "plimsoll"
        await pilot.pause()
        assert header.render().plain.startswith("⊖ Compare both implementations for gaps  ")
        assert header.render().plain.endswith(" vllm:coder-16k · plimsoll")
        header.title = "Compare both"
        assert " ~/ferry-timetable (main) · vllm:coder-16k" in header.render().plain
        await pilot.resize_terminal(120, 5)
        await pilot.pause()
        header.title = "Compare both implementations for gaps and for what is not there at all"
        assert " ~/ferry-timetable (main) · vllm:coder-16k" in header.render().plain


async def test_a_long_path_is_cut_in_its_middle_in_the_header() -> None:
    app = Rows()
    async with app.run_test(size=(84, 5)) as pilot:
        header = app.query_one(ChatHeader)
        header.title, header.model = "list them", "vllm:coder-16k"
        header.place = "~/tides/timetable.worktrees/list-them (plimsoll/list-them)"
        header.policy = "plimsoll"
        await pilot.pause()
        assert header.render().plain.startswith("⊖ list them  ")
        assert "  ~/tides/" in header.render().plain
        assert "(plimsoll/list-them) · vllm:coder-16k · plimsoll" in header.render().plain
        assert len(header.render().plain) == header.size.width
        await pilot.resize_terminal(120, 5)
        await pilot.pause()
        assert f"  {header.place} · vllm:coder-16k" in header.render().plain
        await pilot.resize_terminal(60, 5)
        await pilot.pause()
        assert header.render().plain.endswith("  vllm:coder-16k · plimsoll"), "of too little it says nothing"


def test_queue_rows() -> None:
    assert Waiting(("one", "two\nlines"), paused=False).rows(40) == [
        f"one{' ' * 22}1 of 2 queued",
        f"two lines{' ' * 16}2 of 2 queued",
    ]
    assert (
        Waiting(("one", "two"), paused=True).rows(80)[-1]
        == "2 queued (paused) · enter sends them · up edits the last"
    )
    assert len(Waiting(("one", "two"), paused=True).rows(40)[-1]) <= 40
    assert Waiting(tuple("abcde"), paused=False).rows(40)[-1] == "and 2 more"
    assert Waiting((), paused=True).rows(40) == []
    assert all(len(line) <= 20 for line in Waiting(("x" * 90,), paused=False).rows(20))


async def test_queue_takes_no_room_while_empty() -> None:
    app = Rows()
    async with app.run_test(size=(80, 10)) as pilot:
        view = app.query_one(QueueView)
        assert not view.display
        view.waiting = Waiting(("one", "two"), paused=True)
        await pilot.pause()
        assert view.display
        assert view.size.height == 3


LONG = Status(
    kind="message",
    text="The disk is full: the sessions file /home/anna/.local/share/plimsoll/sessions.db "
    "could not be written. Everything saved before is kept. Free some disk space, then try again.",
    notes=("f2 details", "a second thing that nobody needs " * 3),
)


@pytest.mark.parametrize(("width", "rows"), [(120, 2), (80, 3), (40, 3), (200, 1)])
async def test_a_long_message_takes_rows_and_what_is_behind_it_leaves_first(width: int, rows: int) -> None:
    app = Rows()
    async with app.run_test(size=(width + INSET, 8)) as pilot:
        row = app.query_one(StatusRow)
        row.status = LONG
        await pilot.pause()
        assert row.size.height == rows
        words = " ".join(said(app).split())
        assert words.startswith("The disk is full")
        assert ("then try again. · f2 details" in words) == (width > 40)
        assert words.endswith("…") == (width == 40)
        assert all(cell_len(line) <= width for line in said(app).splitlines())
        row.status = Status(kind="message", text="Short.")
        await pilot.pause()
        assert row.size.height == 1
        row.status = LONG
        await pilot.pause()
        row.status = Status(kind="answering", started=94.0)
        await pilot.pause()
        assert row.size.height == 1


@pytest.mark.parametrize(("width", "rows"), [(160, 1), (80, 2), (60, 2)])
async def test_what_enter_does_after_a_failed_compaction_is_said_at_every_width(
    width: int, rows: int
) -> None:
    ended = CompactionComplete(job="1", outcome="failed", trigger="manual", model="harbour:scripted")
    app = Rows()
    async with app.run_test(size=(width + INSET, 8)) as pilot:
        row = app.query_one(StatusRow)
        text = "Compaction failed: only 6 of 16 lines have a source. Nothing changed."
        row.status = Status(
            kind="message", text=text, notes=("enter keeps the extract instead",), failed=ended
        )
        await pilot.pause()
        assert row.size.height == rows
        assert " ".join(said(app).split()).endswith("enter keeps the extract instead")


@pytest.mark.parametrize(("width", "rows"), [(160, 1), (114, 2), (80, 2), (60, 3)])
async def test_all_that_can_be_done_after_a_failed_compaction_is_said(width: int, rows: int) -> None:
    ended = CompactionComplete(job="1", outcome="failed", trigger="manual", model="harbour:scripted")
    app = Rows()
    async with app.run_test(size=(width + INSET, 8)) as pilot:
        row = app.query_one(StatusRow)
        text = "Compaction failed: The provider of harbour is over… Nothing changed."
        notes = ("enter keeps the extract instead", "ctrl+g tries again")
        row.status = Status(kind="message", text=text, notes=notes, failed=ended)
        await pilot.pause()
        assert row.size.height == rows
        assert " ".join(said(app).split()).endswith(" · ".join(notes))


@pytest.mark.parametrize("name", ["read_file", "ファイルを読み込む"])
def test_pieces_leave_whole_by_the_cells_they_take(name: str) -> None:
    pieces = [(0, name), (1, "12 s"), (2, "214 tokens")]
    width = cell_len(name) + len(" · 12 s")
    assert fit_pieces(pieces, width) == f"{name} · 12 s"
    assert fit_pieces(pieces, width - 1) == name


@pytest.mark.parametrize(("width", "rows"), [(160, 1), (80, 2), (40, 3)])
async def test_what_answers_a_key_while_something_runs_is_not_lost_for_want_of_room(
    width: int, rows: int
) -> None:
    said_no = "A compaction is already running. esc cancels it."
    app = Rows()
    async with app.run_test(size=(width + INSET, 8)) as pilot:
        row = app.query_one(StatusRow)
        row.status = Status(kind="compacting", trigger="manual", started=94.0, notes=(said_no,))
        await pilot.pause()
        assert row.size.height == rows
        assert said_no in " ".join(said(app).split())
        assert "esc cancels" in said(app).splitlines()[0], "what runs keeps its row"
        assert all(cell_len(line) <= width for line in said(app).splitlines())


@pytest.mark.parametrize(
    ("paused", "said"),
    [(False, "enter sends the first"), (True, "1 queued (paused) · enter sends it")],
)
def test_what_a_queue_says_of_its_key_is_whole_in_40_columns(paused: bool, said: str) -> None:
    assert Waiting(("one",), paused=paused, steerable=True).rows(38)[-1] == said
    assert Waiting(("one",), paused=paused, steerable=True).rows(80)[-1].startswith(f"{said} ")


@pytest.mark.parametrize(
    ("writes", "shown"),
    [
        ("", ""),
        ("## Inte", "  … Inte"),
        ("## Intent\n- The rule: never touch", "  … Intent"),
        ("## Intent\n- keeps \x1b[31mthe rule\n\n", "  … keeps the rule"),
    ],
)
async def test_the_last_whole_line_of_a_summary_is_shown_while_it_is_written(writes: str, shown: str) -> None:
    app = Rows()
    async with app.run_test(size=(100, 9)) as pilot:
        row = app.query_one(StatusRow)
        row.status = replace(COMPACTING, writes=writes)
        await pilot.pause()
        lines = str(row.render()).split("\n")
        told = [shown, READ_ALONG.format("ctrl+o")] if shown else []
        assert [part for line in lines[1:] for part in re.split(r"(?<=\S)  +", line)] == told
        assert all(len(line) == row.size.width for line in lines[1:])
        assert row.size.height == len(lines)
        await pilot.resize_terminal(50, 9)
        await pilot.pause()
        assert "\n" not in str(row.render())


@pytest.mark.parametrize(
    ("paused", "draft", "said"),
    [
        (True, "prompt", "2 queued (paused) · enter sends your draft first"),
        (True, "blank", "2 queued (paused) · enter sends them"),
        (True, "command", "2 queued (paused)"),
        (False, "prompt", "enter queues your draft"),
        (False, "blank", "enter sends the first after this step"),
        (False, "command", ""),
    ],
)
def test_a_queue_says_what_its_keys_do_with_a_draft(paused: bool, draft: Draft, said: str) -> None:
    assert Waiting(("one", "two"), paused=paused, steerable=True, draft=draft).rows(100)[-1] == said
