"""What a turn or a session has cost, in words: what is not known is said as unknown, never as zero."""

from dataclasses import replace

from tui_app.events import AssistantMessage
from tui_app.session.stats import Costs, ModelRow, SessionStats
from tui_app.ui.stats_text import sections
from tui_app.ui.text import turn_text, unpriced_text

CUT = AssistantMessage(text="Yes.", output_tokens=6)
WHOLE = AssistantMessage(text="Yes.", input_tokens=1_200, output_tokens=200)


def lines(stats: SessionStats) -> list[str]:
    return [line for section in sections(stats) for line in section.lines]


def test_a_request_of_unknown_size_is_no_request_of_nothing() -> None:
    assert turn_text(Costs().after(CUT)) == "? in · 6 out · price unknown"
    assert turn_text(Costs().after(WHOLE)) == "1.2k in · 0.2k out · price unknown"
    both = Costs().after(WHOLE).after(replace(CUT, cost_usd=0.5))
    assert turn_text(both) == "1.2k + ? in · 0.2k out · $0.50 + unknown"
    assert turn_text(Costs()) == ""


def test_a_price_that_nobody_knows_is_no_zero() -> None:
    row = ModelRow(model="m", answers=11, input_tokens=0, output_tokens=40, unpriced=11)
    said = lines(SessionStats(models=(row,)))
    assert "cost unknown with summaries, 11 answers of unknown price" in said
    assert not any("$0.00" in line for line in said)
    [figures] = [line.split() for line in said if line.startswith("m ")]
    assert figures == ["m", "11", "?", "0", "40", "?"]
    free = lines(SessionStats(models=(replace(row, unpriced=0, input_tokens=90),)))
    assert "$0.00 with summaries" in free
    some = lines(SessionStats(models=(replace(row, unpriced=2, cost_usd=0.5),)))
    assert "$0.50 with summaries, 2 answers of unknown price" in some


def test_whose_price_is_not_known_is_said() -> None:
    costs = Costs().after(replace(WHOLE, model="harbour:scripted")).after(replace(WHOLE, cost_usd=0.5))
    costs = costs.after(replace(WHOLE, model="harbour:scripted"))
    assert (costs.unpriced, costs.unpriced_models) == (2, ("harbour:scripted",))
    told = unpriced_text(costs.unpriced, costs.unpriced_models)
    assert told.startswith("The price of harbour:scripted is not known: 2 requests")
    assert unpriced_text(0, ()) == ""
    said = lines(SessionStats(unpriced_models={"harbour:scripted": 2}))
    assert "no price is known of harbour:scripted: 2 requests not counted" in said
