"""The transcript as a person meets it: opening, walking, folding, following the end."""

import pytest
from textual.theme import BUILTIN_THEMES

from tests.ui.widgets.transcript_kit import NOON, Library, Stage, Talk, long_talk, rows, stage_of
from tui_app.session.entries import Body, Entry
from tui_app.ui.transcript.transcript import Transcript

SIZE = (80, 24)


async def test_opens_at_the_end_and_asks_only_for_what_is_visible() -> None:
    library, entries = long_talk(3_000)
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        assert "second" in rows(app.transcript)[-1]
        assert set(library.asked) <= {entry.seq for entry in entries[-12:]}


async def test_shows_each_kind_in_its_words() -> None:
    app = stage_of(
        lambda talk: talk.add("user", "Why?"),
        lambda talk: talk.add("tool", 'grep "sunday" · 3 hits', tokens=212),
        lambda talk: talk.add("tool", "run_command pytest", tokens=2_312, state="failed"),
        lambda talk: talk.add("assistant", "Because", body=Body(text="Because **so**.", thinking="a\nb")),
        lambda talk: talk.add("compaction", "91.5k → 6.2k · facts kept 98 %"),
        lambda talk: talk.add("compaction", "91.5k → 6.2k", state="undone"),
        lambda talk: talk.add("model", "one → two"),
        lambda talk: talk.add(
            "error", "The key was refused.", body=Body(text="The key was refused.\nSet it.\nraw")
        ),
    )
    async with app.run_test(size=(80, 30)):
        shown = "\n".join(rows(app.transcript))
        for expected in (
            "  You" + " " * 69 + "12:00",
            '  ▸ grep "sunday" · 3 hits',
            "0.2k tok",
            "✗ failed · 2.3k tok",
            "▸ thinking · 2 lines",
            "Because so.",
            "⊖ Conversation compacted · 91.5k → 6.2k · facts kept 98 %",
            "enter shows what stayed and what left · u undoes",
            "undone: what it replaced is back",
            "→ one → two",
            "✗ The key was refused.",
            "Set it.",
        ):
            assert expected in shown
        assert "raw" not in shown
        assert "**" not in shown


async def test_enter_opens_a_tool_row_and_closes_it_again() -> None:
    body = Body(text="line one\nline two", args='{"pattern": "sunday"}')
    app = stage_of(lambda talk: talk.add("tool", "grep", body=body))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("up", "enter")
        assert [row.strip("┃ ") for row in rows(app.transcript)[:4]] == [
            "▾ grep", "pattern: sunday", "line one", "line two",
        ]  # fmt: skip
        await pilot.press("enter")
        assert rows(app.transcript)[1] == ""


async def test_click_opens_a_tool_row() -> None:
    app = stage_of(lambda talk: talk.add("tool", "grep", body=Body(text="found")))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(Transcript, offset=(4, 0))
        assert "found" in rows(app.transcript)[1]


async def test_long_output_is_clipped_and_counted() -> None:
    body = Body(text="\n".join(f"row {n}" for n in range(1_000)))
    app = stage_of(lambda talk: talk.add("tool", "cat", body=body))
    async with app.run_test(size=(80, 410)) as pilot:
        await pilot.press("up", "enter")
        shown = [row.strip("┃ ") for row in rows(app.transcript)]
        assert shown[301] == "… 600 more lines are not shown"
        assert shown[300] == "row 299"
        assert shown[302] == "row 900"


async def test_enter_and_ctrl_o_open_details_and_u_undoes() -> None:
    app = stage_of(lambda talk: talk.add("compaction", "9k → 1k"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("up", "enter", "ctrl+o", "u")
        assert [type(message) for message in app.heard] == [
            Transcript.Opened, Transcript.Opened, Transcript.UndoRequested,
        ]  # fmt: skip
        app.transcript.replace(Entry(seq=1, kind="compaction", time=NOON, title="9k → 1k", state="undone"))
        await pilot.press("u")
        assert len(app.heard) == 3


async def test_the_cursor_marks_one_entry_only_while_focused() -> None:
    app = stage_of(lambda talk: talk.add("user", "one"), lambda talk: talk.add("user", "two"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("up")
        assert [y for y, row in enumerate(rows(app.transcript)) if row.startswith("┃")] == [3, 4]
        await pilot.press("up")
        assert [y for y, row in enumerate(rows(app.transcript)) if row.startswith("┃")] == [0, 1]
        app.set_focus(None)
        await pilot.pause()
        assert not [row for row in rows(app.transcript) if row.startswith("┃")]


async def test_new_lines_are_counted_only_while_reading_above() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE) as pilot:
        transcript = app.transcript
        transcript.append(Entry(seq=900, kind="notice", time=NOON, title="seen"))
        assert transcript.unread == 0
        assert "seen" in rows(transcript)[-1]
        await pilot.press("pageup")
        before = rows(transcript)
        transcript.append(Entry(seq=901, kind="user", time=NOON, title="a\nb", chars=3))
        assert transcript.unread == 4, "distance, role and two lines"
        assert rows(transcript)[:-1] == before[:-1]
        assert "↓ 4 new lines" in rows(transcript)[-1]
        await pilot.press("end")
        assert transcript.unread == 0
        assert [message.unread for message in app.heard] == [4, 0]


async def test_jump_puts_an_entry_on_top() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        app.transcript.jump_to(entries[30].seq)
        assert "prompt 10" in "".join(rows(app.transcript)[:3])
        assert app.transcript.cursor_entry == entries[30]
        app.transcript.jump_to(123_456)
        assert app.transcript.cursor_entry == entries[30]


async def test_paging_up_to_the_start_passes_every_line_once() -> None:
    library, entries = long_talk(20)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 200)) as pilot:
        app.transcript.action_first()
        await pilot.resize_terminal(60, 20)
        pages = [rows(app.transcript)]
        app.transcript.action_last()
        await pilot.pause()
        pages = [rows(app.transcript)]
        while app.transcript.scroll_y > 0:
            await pilot.press("pageup")
            pages.insert(0, rows(app.transcript))
        seen = pages[0]
        for page in pages[1:]:
            overlap = max(n for n in range(1, len(page) + 1) if seen[-n:] == page[:n])
            seen += page[overlap:]
        prompts = [row.strip() for row in seen if row.strip().startswith("prompt")]
        assert prompts == [f"prompt {number}" for number in range(20)]


async def test_resize_keeps_the_entry_at_the_top() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=(100, 30)) as pilot:
        app.transcript.jump_to(entries[60].seq)
        await pilot.pause()
        for width in (50, 72, 120, 100):
            await pilot.resize_terminal(width, 24)
            assert "prompt 20" in "".join(rows(app.transcript)[:3]), width


async def test_a_resize_at_the_end_stays_at_the_end() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.resize_terminal(40, 12)
        assert "second" in rows(app.transcript)[-1]


async def test_plain_mode_has_words_and_no_drawing() -> None:
    table = "| a | b |\n|---|---|\n| ├── | ⠋ |\n\n> quote\n\n- item"
    app = stage_of(
        lambda talk: talk.add("user", "Why?"),
        lambda talk: talk.add("tool", "tree", body=Body(text="├── a\n│   └── b")),
        lambda talk: talk.add("assistant", "x", body=Body(text=table, thinking="hm")),
        lambda talk: talk.add("compaction", "9k to 1k"),
    )
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.plain = True
        app.transcript.jump_to(2)
        await pilot.press("enter")
        shown = "\n".join(rows(app.transcript))
        assert "You:" in shown
        assert "Model:" in shown
        assert "@ Conversation compacted" in shown
        assert not [c for c in shown if "\u2500" <= c <= "\u257f" or "\u2800" <= c <= "\u28ff"]
        await pilot.press("p")


async def test_untrusted_text_never_reaches_the_screen_raw() -> None:
    bad = "[/x] [red]\x1b]8;;http://evil\x07link\x1b\\ \x1b[2J\x00 \u202eabc &#x202e; <script>"
    app = stage_of(
        lambda talk: talk.add("user", bad, body=Body(text=bad)),
        lambda talk: talk.add("tool", bad, body=Body(text=bad, args=bad)),
        lambda talk: talk.add("assistant", bad, body=Body(text=bad, thinking=bad)),
        lambda talk: talk.add("compaction", bad),
        lambda talk: talk.add("error", bad, body=Body(text=bad)),
    )
    async with app.run_test(size=(80, 50)) as pilot:
        app.transcript.jump_to(2)
        await pilot.press("enter")
        app.transcript.jump_to(3)
        await pilot.press("enter")
        strips = [app.transcript.render_line(y) for y in range(50)]
        shown = "".join(strip.text for strip in strips)
        assert "[/x] [red]" in shown
        assert "<script>" in shown
        assert not [c for c in shown if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"]
        assert not [segment for strip in strips for segment in strip if segment.style and segment.style.link]


@pytest.mark.parametrize("theme", ["textual-light", "textual-dark", "nord", "solarized-light"])
async def test_text_stands_out_in_every_theme(theme: str) -> None:
    assert theme in BUILTIN_THEMES
    app = stage_of(
        lambda talk: talk.turn(1),
        lambda talk: talk.add("compaction", "9k → 1k"),
        lambda talk: talk.add("error", "refused"),
    )
    async with app.run_test(size=(80, 40)) as pilot:
        app.theme = theme
        await pilot.pause()
        for y in range(40):
            for segment in app.transcript.render_line(y):
                if segment.text.strip() and segment.style:
                    assert _contrast(segment.style) >= 4.4, (segment.text, segment.style)


def _contrast(style) -> float:
    def light(colour) -> float:
        parts = [part / 255 for part in colour.get_truecolor()]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    one, other = sorted((light(style.color), light(style.bgcolor)))
    return (other + 0.05) / (one + 0.05)


async def test_replace_shows_the_new_state_in_place() -> None:
    library = Library()
    talk = Talk(library)
    talk.add("tool", "run_command pytest", state="running")
    talk.add("user", "meanwhile")
    app = Stage(library, talk.entries)
    async with app.run_test(size=SIZE):
        assert "running" in rows(app.transcript)[0]
        app.transcript.replace(Entry(seq=1, kind="tool", time=NOON, title="run_command pytest", tokens=500))
        assert rows(app.transcript)[0].endswith("0.5k tok")
        app.transcript.replace(Entry(seq=77, kind="tool", time=NOON, title="unknown"))
        assert "unknown" not in "".join(rows(app.transcript))


async def test_clear_empties_the_window() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.set_entries(())
        await pilot.press("up", "down", "enter", "pageup", "home", "end", "u")
        assert rows(app.transcript) == [""] * 24
