"""Titles of rows are words: Markdown's signs are left out, what only looks like them stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.events import AgentOutput, AssistantMessage, Payload, SystemMessage, UserMessage
from tui_app.session.event_heads import TITLE_LIMIT, head_of, spoken_line
from tui_app.session.importers.reader import title_of
from tui_app.session.importers.source import ImportedEvent


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("**Done.** See `ferry.py`", "Done. See ferry.py"),
        ("# Ferry times", "Ferry times"),
        ("### Ferry times ###\nmore", "Ferry times"),
        ("**`ferry.py`** is mended", "ferry.py is mended"),
        ("use ``a ` b`` here", "use a ` b here"),
        ("(**no**), **yes**!", "(no), yes!"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("```", "```"),
        ("\n\n  two lines\nsecond", "two lines"),
        ("`a ** b ** c`", "a ** b ** c"),
    ],
)
def test_signs_of_markdown_are_left_out(text: str, title: str) -> None:
    assert spoken_line(text) == title


@pytest.mark.parametrize(
    "text",
    [
        "a*b*c", "mend __init__ and __main__", "#12 is wrong", "#", "# ", "2**3 and 4**5", "a lone ` tick",
        "src/**/*.py and tests/**/*.py", "**/*.py and **/*.md", "** not bold **", "**kwargs and *args",
        "- item", "#hashtag", "####### seven", "f(**a, **b)",
    ],
)  # fmt: skip
def test_what_only_looks_like_markup_stays(text: str) -> None:
    assert spoken_line(text) == text.strip()


@given(st.text(alphabet="ab *`#_\n/", max_size=60))
def test_no_word_is_lost(text: str) -> None:
    first = next((line for line in text.splitlines() if line.strip()), "")
    assert [sign for sign in spoken_line(text) if sign in "ab_/"] == [
        sign for sign in first if sign in "ab_/"
    ]


def test_a_long_line_is_cut_behind_the_signs() -> None:
    title = spoken_line(f"**{'word ' * 30}end** and more " + "x" * 9_999)
    assert title.startswith("word word")
    assert title.endswith("…")
    assert len(title) == TITLE_LIMIT


def test_an_imported_session_has_such_a_title() -> None:
    event = ImportedEvent(data=UserMessage(text="Mend `ferry.py` **today**"), message=None, time=0.0)
    assert title_of([event]) == "Mend ferry.py today"


@pytest.mark.parametrize("kind", [UserMessage, AssistantMessage, SystemMessage, AgentOutput])
def test_rows_of_what_was_said_have_such_titles(kind: type[Payload]) -> None:
    assert head_of(1, 0.0, kind(text="## Mend `ferry.py`")).title == "Mend ferry.py"  # type: ignore[call-arg]
