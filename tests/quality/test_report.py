"""The report: from files to tables that reveal nothing of the sessions."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest, UserPromptPart

from tests.context.facts_kit import call, says, shell, user
from tests.quality.__main__ import main
from tests.quality.cases import Case
from tests.quality.chains import chained, played
from tests.quality.contexts import MASKED, masked_within, product_within
from tests.quality.governed import COMPACTION_ALONE, Governed, bare_summary, context_of
from tests.quality.report import COLUMNS, number
from tests.quality.scores import Scores, score
from tests.quality.text import text_of
from tests.quality.truth import truth_of
from tui_app.context.compaction.replacement import WAY_BACK
from tui_app.context.counting.encodings import TextCounter


def transcript(path: Path, turns: int) -> None:
    """A session of another program that contains a secret name."""
    messages: list[dict[str, object]] = [{"role": "user", "content": "Build zanzibarShop. Never push."}]
    for turn in range(turns):
        function = {
            "name": "write_file",
            "arguments": json.dumps({"path": f"zanzibar{turn}.py", "content": "x"}),
        }
        messages.append(
            {
                "role": "assistant",
                "content": "I go on.",
                "tool_calls": [{"id": f"c{turn}", "function": function}],
            }
        )
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "File created. " * 20})
    path.write_text(json.dumps(messages), encoding="utf-8")


def test_from_a_folder_to_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transcript(tmp_path / "zanzibar.json", 30)
    out = tmp_path / "out.md"
    options = ["--window", "2000", "--budget", "200", "--long", "9000", "--markdown", str(out)]
    assert main([str(tmp_path), *options]) == 0
    page = out.read_text(encoding="utf-8")
    assert page == capsys.readouterr().out[:-1]
    assert "`python -m tests.quality FOLDER --window 2000 --budget 200`" in page
    assert "zanzibar" not in page, "a page that is committed holds numbers only"
    for name in ("ours", "raw tail of the same size", "bare list of names", "our summary alone", MASKED):
        assert f"| {name} |" in page
    assert f"{MASKED}: 1 of 1 histories (the end is kept)" in page
    assert "9,000 tokens" in page


def test_what_is_too_large_for_a_budget_is_clipped_and_says_so() -> None:
    before: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(f"word {n}")]) for n in range(20)]
    small, large = masked_within(before, 10, words), masked_within(before, 1_000, words)
    assert small.clipped
    assert small.text.endswith("word 19")
    assert small.tokens <= 10
    assert not large.clipped
    assert large.text.startswith("word 0")
    summary = "one two three four"
    assert product_within(summary, 2, words).text.strip() == "one two"
    assert product_within(summary, 2, words).clipped
    assert product_within(summary, 4, words).text == summary


def words(text: str) -> int:
    return len(text.split())


def test_nothing_long_enough_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transcript(tmp_path / "short.json", 1)
    assert main([str(tmp_path)]) == 1
    assert "No history of 30,400 tokens or more" in capsys.readouterr().err


def test_every_score_has_a_column() -> None:
    assert list(COLUMNS) == list(Scores.__dataclass_fields__)
    assert (number(None), number(1 / 3), number(0.1534, 3)) == ("-", "0.33", "0.153")


# Our own results, produced by the real governor without a model.


WINDOW = 4_000
RULE = "Never touch the migrations folder."


def text() -> TextCounter:
    """Four characters per token, so no tokenizer has to be loaded."""
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
