"""What is copied: plain text, code blocks, Markdown; never a control character."""

from tui_app.session.entries import Body, Entry
from tui_app.ui.dialogs.message import copied, fenced, without_markup

PROMPT = (Entry(seq=2, kind="user", time=0.0, title="Why?"), Body(text="Why `0`?"))
SOURCE = (
    "# Title\n\nSome **bold** [link](https://x.y) and `code`.\n\n- one\n  - two\n\n"
    "3. three\n4. four\n\n```py\nif x:\n    y\n```\n"
)
ANSWER = (Entry(seq=3, kind="assistant", time=0.0, title="Title"), Body(text=SOURCE))
TOOL = (
    Entry(seq=4, kind="tool", time=0.0, title="grep x · 1 hit", result_seq=5),
    Body(text="a ``` b\x1b[31m\x00", args='{"pattern": "x"}'),
)


def test_plain_text_has_no_signs_of_markup() -> None:
    text = without_markup(SOURCE)
    assert text.startswith("Title\n\nSome bold link (https://x.y) and code.")
    assert "- one\n  - two" in text
    assert "3. three\n4. four" in text
    assert text.endswith("if x:\n    y")
    assert "**" not in text


def test_a_table_stays_readable() -> None:
    text = without_markup("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "a" in text
    assert "2" in text
    assert "---" not in text


def test_only_the_code() -> None:
    assert copied([PROMPT, ANSWER, TOOL], "code") == "if x:\n    y"
    assert copied([PROMPT, TOOL], "code") == ""


def test_markdown_names_who_speaks_once_there_are_several() -> None:
    assert copied([ANSWER], "markdown") == SOURCE.strip("\n")
    text = copied([PROMPT, ANSWER, TOOL], "markdown")
    assert text.startswith("## You\n\nWhy `0`?\n\n## Model\n\n# Title")
    assert "## Tool: grep x · 1 hit\n\n````\na ``` b\n````" in text


def test_nothing_that_a_terminal_acts_on_is_copied() -> None:
    for form in ("text", "markdown"):
        text = copied([TOOL], form)  # type: ignore[arg-type]
        assert "\x1b" not in text
        assert "\x00" not in text
        text.encode()


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fenced("````\nx").startswith("`````\n")
