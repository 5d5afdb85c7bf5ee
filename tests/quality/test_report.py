"""The report: from files to tables, with nothing of the sessions in it."""

import json
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from tests.quality.__main__ import main
from tests.quality.contexts import MASKED, masked_within, product_within
from tests.quality.report import COLUMNS, number
from tests.quality.scores import Scores


def transcript(path: Path, turns: int) -> None:
    """A session of another program with a secret name in it."""
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
