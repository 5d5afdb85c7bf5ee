"""The gauge's text is exact and never cut; its bar agrees with it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.app import App, ComposeResult
from textual.screen import Screen

from tests.ui.kit import ThemedApp, in_plain
from tests.ui.screens.test_context import Source
from tui_app.context.windows.windows import resolve_window
from tui_app.session.measurement import UNKNOWN
from tui_app.settings import Settings
from tui_app.ui.colours.themes import THEMES
from tui_app.ui.context.context_words import ContextView
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.panels.gauge import ContextGauge, marks
from tui_app.ui.panels.window_bar import category_rows
from tui_app.ui.words.load import Load
from tui_app.usage import Breakdown, ContextUsage, ContextWindow, percent_text


def usage(total: int, *, limit: int = 128_000, exact: bool = False, unmeasured: int = 0) -> ContextUsage:
    window = ContextWindow(limit=limit, source="model", reserve=8_000)
    parts = Breakdown(user=total - unmeasured)
    return ContextUsage(parts=parts, window=window, messages=9, exact=exact, unmeasured=unmeasured)


@pytest.mark.parametrize(
    ("total", "exact", "text"),
    [
        (91_500, False, "71% of 128k · ~91.5k · ok"),
        (91_500, True, "71% of 128k · 91.5k · ok"),
        (104_960, False, "82% of 128k · ~105k · near"),
        (102_400, True, "80% of 128k · 102.4k · near"),
        (102_399, True, "79% of 128k · 102.4k · ok"),
        (121_600, True, "95% of 128k · 121.6k · full"),
        (128_000, True, "100% of 128k · 128k · full"),
        (127_999, True, "99% of 128k · 128k · full"),
        (131_100, False, "over by 3.1k of 128k · full"),
        (40, False, "<1% of 128k · ~40 · ok"),
        (0, True, "0% of 128k · 0 · ok"),
    ],
)
def test_words_of_a_measured_context(total: int, exact: bool, text: str) -> None:
    assert Load(usage(total, exact=exact)).text == text


def test_words_of_what_is_not_known() -> None:
    assert Load(None).text == "loading model …"
    assert Load(replace(usage(91_500, exact=True), window=UNKNOWN)).text == "91.5k of ?"
    assert Load(replace(usage(91_500), window=UNKNOWN)).text == "~91.5k of ?"


async def test_the_load_lines_stand_still_whatever_the_words_say() -> None:
    app = GaugeApp()
    async with app.run_test(size=(80, 5)):
        gauge, seen = app.query_one(ContextGauge), set()
        for total in (0, 40, 64_000, 127_900, 131_100, 290_000, 9_000_000):
            gauge.load = Load(usage(total))
            drawn = row(app)
            seen.add(tuple(at for at, sign in enumerate(drawn) if sign in "┃╂"))
            assert len(drawn) <= 78
        assert len(seen) == 1


def test_a_pending_prompt_counts_and_makes_the_figure_an_estimate() -> None:
    assert Load(usage(91_500, exact=True), pending=12_000).text == "81% of 128k · ~103.5k · near"


def test_words_follow_the_policy_s_marks() -> None:
    assert Load(usage(64_000), 0.5, 0.6).zone == "near"
    assert Load(usage(77_000), 0.5, 0.6).zone == "full"
    assert Load(usage(127_000), 0, 0).zone == "ok"
    assert Load(usage(128_001), 0, 0).zone == "full"
    assert Load(None).zone == "ok"
    assert Load(background=0.8).threshold == "compacts at 80%"
    assert Load(background=0.0).threshold == ""


@pytest.mark.parametrize(
    ("used", "said"), [(1_280, "1%"), (85_500, "67%"), (85_119, "66%"), (85_120, "67%"), (128_000, "100%")]
)
def test_percent_is_rounded_half_up(used: int, said: str) -> None:
    assert percent_text(used, 128_000) == said


@pytest.mark.parametrize(("used", "said"), [(102_000, "79%"), (102_400, "80%"), (103_360, "81%")])
def test_percent_is_never_ahead_of_a_threshold(used: int, said: str) -> None:
    assert percent_text(used, 128_000, (0.8, 0.95)) == said


@pytest.mark.parametrize("used", [1, 7, 127_999])
def test_percent_is_neither_a_false_zero_nor_a_false_hundred(used: int) -> None:
    assert percent_text(used, 128_000) not in ("0%", "100%")


def test_bar_shows_something_for_little_and_never_overflows() -> None:
    assert Load(usage(1)).bar(40).used == 1
    over = Load(usage(200_000), pending=5_000).bar(40)
    assert (over.used, over.pending) == (40, 0)
    pending = Load(usage(64_000), pending=10).bar(40)
    assert (pending.used, pending.pending, pending.marks) == (20, 1, (32, 38))
    assert Load(None).bar(40).used == 0


def test_a_bar_is_exact_to_half_a_cell() -> None:
    limit = 128_000
    shown = [Load(usage(limit * eighths // 320)).bar(40) for eighths in (80, 84, 87, 88, 320)]
    assert [(bar.used, bar.half) for bar in shown] == [
        (10, False), (10, True), (10, True), (11, False), (40, False),
    ]  # fmt: skip
    assert not Load(usage(33_600), pending=3_000).bar(40).half, "a draft goes on there"
    assert not Load(usage(33_600), leaving=8_000).bar(40).half


class Commands(Screen[None]):
    def __init__(self) -> None:
        super().__init__()
        self.run: list[str] = []

    def action_slash(self, text: str) -> None:
        self.run.append(text)


class GaugeApp(ThemedApp):
    def get_default_screen(self) -> Screen[None]:
        return Commands()

    def compose(self) -> ComposeResult:
        yield ContextGauge()

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name


def row(app: App[None]) -> str:
    return app.query_one(ContextGauge).render().plain


@pytest.mark.parametrize("width", [120, 80, 40, 37])
async def test_text_is_whole_and_fits_at_every_width(width: int) -> None:
    app = GaugeApp()
    async with app.run_test(size=(width, 12)) as pilot:
        gauge = app.query_one(ContextGauge)
        for total in (0, 91_500, 104_960, 131_100):
            gauge.load = Load(usage(total))
            await pilot.pause()
            assert Load(usage(total)).text in row(app)
            assert len(row(app)) <= width
        gauge.load = Load(usage(131_100))
        assert ("━" in row(app)) is (width > 40)
        assert row(app).count("╂") == (2 if width > 40 else 0)


async def test_pending_is_drawn_lighter_than_what_is_used() -> None:
    app = GaugeApp()
    async with app.run_test(size=(80, 5)):
        gauge = app.query_one(ContextGauge)
        gauge.load = Load(usage(40_000), pending=12_000)
        drawn = row(app)
        assert drawn.index("━") < drawn.index("╍") < drawn.index("─")


@pytest.mark.parametrize(
    ("total", "colour", "word"),
    [
        (39_700, "$accent", "$text-muted"),
        (106_000, "$warning", "bold $text-warning"),
        (131_100, "$error", "bold $text-error"),
    ],
)
async def test_a_state_colours_the_bar_and_its_word(total: int, colour: str, word: str) -> None:
    app = GaugeApp()
    async with app.run_test(size=(120, 5)):
        gauge = app.query_one(ContextGauge)
        gauge.load = Load(usage(total))
        spans = gauge.render().spans
        assert spans[0].style == colour
        assert spans[-1].style == word
        gauge.load = replace(gauge.load, leaving=20_000)
        assert any(
            span.style == ("$accent-soft" if total < 100_000 else colour)
            for span in gauge.render().spans[1:-2]
        )


async def test_no_share_of_an_unknown_limit_is_drawn() -> None:
    app = GaugeApp()
    async with app.run_test(size=(120, 5)):
        gauge = app.query_one(ContextGauge)
        gauge.load = Load(replace(usage(40_000, exact=True), window=UNKNOWN))
        drawn = row(app)
        assert " 40.0k of ?" in drawn
        assert "━" not in drawn
        assert "┃" not in drawn


async def test_plain_signs_and_no_colour_still_say_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = GaugeApp()
    async with app.run_test(size=(80, 5)):
        gauge = app.query_one(ContextGauge)
        gauge.load = Load(usage(104_960))
        plain = in_plain(row(app))
        assert plain.isascii()
        assert len(plain) == len(row(app))
        assert plain.endswith("near")
        assert plain.count("|") == 2


async def test_a_click_shows_what_fills_the_context() -> None:
    app = GaugeApp()
    async with app.run_test(size=(80, 5)) as pilot:
        await pilot.click(ContextGauge)
        assert isinstance(app.screen, Commands)
        assert app.screen.run == ["/context"]


def test_context_screen_and_gauge_say_the_same_number() -> None:
    measured = usage(91_500, unmeasured=300)
    rows = category_rows(measured)
    assert sum(row.tokens for row in rows) == measured.total
    assert rows[-1].name == "not measured"


@pytest.mark.parametrize("make", [lambda: usage(91_500), lambda: usage(131_100, exact=True)])
async def test_one_wording_on_every_screen(make: Callable[[], ContextUsage]) -> None:
    app = GaugeApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.query_one(ContextGauge).load = Load(make())
        said = app.query_one(ContextGauge).load.text
        view = ContextView(usage=make())
        app.push_screen(ContextScreen(Source(view), view))
        await pilot.pause()
        heading = app.screen.query(".dialog-title").first()
        assert said in str(heading.render())


def test_a_size_that_a_refusal_suggests_is_no_other_window() -> None:
    """Chat, gauge and command show the known window; only the marks move to the estimate."""
    window = ContextWindow(limit=10_000, source="learnt", reserve=600, announced=20_000)
    usage = ContextUsage(parts=Breakdown(user=9_000), window=window, messages=3)
    background, blocking = marks(Settings(), usage)
    assert (background, blocking) == (0.4, 0.475)
    assert Load(usage, background=background, blocking=blocking).text == "45% of 20k · ~9.0k · near"
    assert usage.to_json()["limit"] == 20_000
    assert usage.utilization == 0.45
    reserve = marks(Settings(policy="reserve"), usage)
    assert reserve == (0.4, 0.47)
    unknown = ContextUsage(parts=Breakdown(user=9_000), window=UNKNOWN, messages=3)
    assert marks(Settings(), unknown) == (0.0, 0.0)
    assert Load(unknown).text == "~9.0k of ?"
    assert marks(Settings(), None) == (0.8, 0.95), "they stand still while the model is loading"
    assert marks(Settings(policy="reserve"), None) == (0.0, 0.0), "no share of a window"
    assert marks(Settings(policy="off"), None) == (0.0, 0.0)
    assert Load(unknown, 0.0, 0.0, pending=5).bar(20).used == 0
    assert percent_text(5, 0) == "?%"


def test_a_window_that_nobody_knows_is_told_with_a_question_mark() -> None:
    assumed = ContextUsage(parts=Breakdown(user=1_280), window=resolve_window(), messages=1)
    assert Load(assumed).text == "1% of 128k? · ~1.3k · ok"
    told = replace(assumed, window=resolve_window(server=128_000))
    assert Load(told).text == "1% of 128k · ~1.3k · ok"
