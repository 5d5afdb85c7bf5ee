"""Retention: what a replacement kept of the facts, and the block that brings back the rest."""

from hypothesis import given
from hypothesis import strategies as st

from tests.context.facts_kit import characters
from tui_app.context.compaction.retention import judge, missing_facts
from tui_app.context.events import Fact


def fact(kind: str, text: str, weight: float = 1.0, source: str = "#3") -> Fact:
    return Fact(kind=kind, text=text, source=source, weight=weight)  # type: ignore[arg-type]


FACTS = (
    fact("rule", "Never use `tabs` in *this* repo.", 4.0),
    fact("error", "`pytest -x` · failed: E ValueError: bad date ¦ 1 failed", 3.0),
    fact("file", "/w/src/app/parse.py · created, edited 2×", 2.0),
    fact("command", "`make docs` · ok"),
    fact("detail", "`retry_limit` · in net/client.py", 0.5),
)


def test_facts_are_found_whatever_white_space_quotes_and_marks() -> None:
    text = (
        "- never use tabs\n  in this repo.\nTests: E ValueError:   bad date. Edited `app/parse.py`; "
        "ran 'make docs'; retry_limit matters"
    )
    judged, score = judge(FACTS, replacement_text=text)
    assert [fact.state for fact in judged] == ["kept"] * 5
    assert score == 1.0


def test_what_is_missing_can_be_got_back_by_its_handle_or_is_lost() -> None:
    judged, score = judge(FACTS, replacement_text="Ran make docs.")
    assert [fact.state for fact in judged] == ["recoverable"] * 3 + ["kept", "recoverable"]
    assert score == round(1 / 10.5, 4)
    lost, _ = judge(FACTS, replacement_text="", recoverable=False)
    assert {fact.state for fact in lost} == {"lost"}
    on_disk, _ = judge(
        FACTS, replacement_text="", recoverable=False, recoverable_text="make docs\nretry_limit"
    )
    assert [fact.state for fact in on_disk] == ["lost"] * 3 + ["recoverable"] * 2


def test_a_bare_name_counts_only_when_no_other_file_has_it() -> None:
    twins = (
        fact("file", "a/state.go · edited"),
        fact("file", "b/state.go · read"),
        fact("file", "c/main.go · read"),
    )
    judged, _ = judge(twins, replacement_text="Changed state.go and main.go, not domain.go")
    assert [fact.state for fact in judged] == ["recoverable", "recoverable", "kept"]
    judged, _ = judge(twins[2:], replacement_text="see domain.go")
    assert judged[0].state == "recoverable"


def test_a_masked_secret_does_not_hide_a_kept_rule() -> None:
    rule = fact("rule", "Always send [secret removed] along.")
    assert judge((rule,), replacement_text="Always send sk-123 along.")[1] == 1.0


def test_nothing_to_keep_is_all_kept() -> None:
    assert judge((), replacement_text="") == ((), 1.0)


def test_missing_facts_come_back_grouped_with_handles() -> None:
    block = missing_facts(FACTS, "Ran make docs.", 200, characters)
    assert block == (
        "**Rules**\n- Never use `tabs` in *this* repo. (#3)\n"
        "**Open errors**\n- `pytest -x` · failed: E ValueError: bad date ¦ 1 failed (#3)\n"
        "**Files**\n- /w/src/app/parse.py · created, edited 2× (#3)\n"
        "**Details**\n- net/client.py: retry_limit (#3)"
    )
    assert judge(FACTS, replacement_text=f"Ran make docs.\n{block}")[1] == 1.0


def test_the_weightiest_come_first_when_room_is_short() -> None:
    assert missing_facts(FACTS, "", 16, characters) == "**Rules**\n- Never use `tabs` in *this* repo. (#3)"
    assert missing_facts(FACTS, "", 3, characters) == ""


_FACTS = st.lists(
    st.builds(
        fact,
        st.sampled_from(
            ["rule", "request", "file", "command", "error", "decision", "todo", "question", "detail"]
        ),
        st.text(max_size=80),
        st.floats(0, 10),
        st.sampled_from(["", "#1", "#22"]),
    ),
    max_size=12,
)


@given(_FACTS, st.text(max_size=200), st.integers(0, 120), st.sampled_from([len, characters, lambda text: 7]))
def test_the_block_keeps_its_budget(facts: list[Fact], text: str, budget: int, count: object) -> None:
    block = missing_facts(facts, text, budget, count)  # type: ignore[arg-type]
    assert not block or count(block) <= budget  # type: ignore[operator]
    judged, score = judge(facts, replacement_text=text)
    assert len(judged) == len(facts)
    assert 0.0 <= score <= 1.0
