"""Our own results, played through the real governor without any model."""

import asyncio

from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest

from tests.context.facts_kit import call, says, shell, user
from tests.quality.cases import Case
from tests.quality.chains import chained, played
from tests.quality.governed import COMPACTION_ALONE, Governed, bare_summary, context_of
from tests.quality.scores import score
from tests.quality.text import text_of
from tests.quality.truth import truth_of
from tui_app.context.compaction.replacement import WAY_BACK
from tui_app.context.counting.encodings import TextCounter

WINDOW = 4_000
RULE = "Never touch the migrations folder."


def text() -> TextCounter:
    """Four characters a token: a tokenizer that never needs loading."""
    return TextCounter("o200k_base")


def session(turns: int = 24, printed: int = 60) -> tuple[ModelMessage, ...]:
    messages = [*user(f"Build the shop, page by page. {RULE}"), *says("I begin.")]
    for turn in range(turns):
        path = f"/w/shop/pages/page{turn}.py"
        messages += call(
            "Write", {"file_path": path, "content": f"def renderPage{turn}(): ..."}, "File created"
        )
        messages += shell(f"pytest pages/test_page{turn}.py", "passed " * printed)
        messages += says(f"Page {turn} is done.")
    return (*messages, *user("Now the start page."))


def test_the_request_is_what_the_model_was_given() -> None:
    governed = Governed(text(), WINDOW)
    unasked = asyncio.run(governed.send(session()))
    assert governed.compactions == [], "hiding old outputs was enough"
    assert text_of(unasked).count("[Result archived") > 10
    sent = asyncio.run(Governed(text(), WINDOW, COMPACTION_ALONE).send(session()))
    assert isinstance(sent[0].parts[0], CompactionPart)
    governed = Governed(text(), WINDOW)
    sent = asyncio.run(governed.compacted(session()))
    kept = context_of(sent, governed)
    assert len(governed.compactions) == 1
    assert kept.tokens < WINDOW < governed.size(session())
    assert isinstance(sent[0], ModelRequest)
    assert RULE in kept.written
    assert WAY_BACK in text_of(sent)
    assert WAY_BACK not in kept.written, "our own sentence is nothing we claim"
    assert 0 < kept.written_tokens < kept.tokens


def test_five_compactions_in_a_row_keep_rules_and_files() -> None:
    before = session(printed=800)
    case = Case("x", "none", False, before, (), Governed(text(), WINDOW).size(before))
    for times in (1, 2, 5):
        kept = asyncio.run(chained(before, times, 12_000, text()))
        scores = score(kept, truth_of(case), case.tokens, text().count)
        assert (scores.rules, scores.false_claims) == (1.0, 0.0)
        assert scores.touched is not None
        assert scores.touched >= 0.97
        assert kept.name == f"ours, {times} compactions"


def test_playing_a_session_never_outgrows_the_window() -> None:
    kept = asyncio.run(played(session(), WINDOW, text(), COMPACTION_ALONE, step=400))
    assert kept.tokens <= WINDOW
    assert RULE in kept.text


def test_the_summary_alone_keeps_its_budget() -> None:
    kept = bare_summary(session(), 300, text())
    assert 0 < kept.tokens <= 300
    assert kept.text == kept.written
