"""The answer that is being written."""

from tests.ui.widgets.transcript_kit import ANSWER, NOON, Library, Stage, Talk, long_talk, rows
from tui_app.session.entries import Body, Entry

SIZE = (80, 24)
LONG = ANSWER * 12


def finished(seq: int, text: str) -> Entry:
    return Entry(seq=seq, kind="assistant", time=NOON, title=text[:20], chars=len(text))


async def test_streamed_text_appears_and_hands_over_without_a_change() -> None:
    library, entries = long_talk(3)
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        app.transcript.live_start()
        for start in range(0, len(LONG), 7):
            app.transcript.live_append(LONG[start : start + 7], thinking="hm\n" if not start else "")
        app.transcript.live_end()
        before = rows(app.transcript)
        assert "second" in before[-1]
        library.bodies[500] = Body(text=LONG, thinking="hm\n")
        app.transcript.append(finished(500, LONG))
        assert rows(app.transcript) == before


async def test_appending_paints_nothing_until_the_frame() -> None:
    library, entries = long_talk(1)
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        app.transcript.live_start()
        app.transcript.live_flush()
        before = rows(app.transcript)
        for word in ("many ", "small ", "pieces"):
            app.transcript.live_append(word)
        assert rows(app.transcript) == before
        app.transcript.live_flush()
        assert "many small pieces" in "".join(rows(app.transcript))


async def test_reading_above_is_not_disturbed_and_lines_are_counted() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup", "pageup")
        before = rows(app.transcript)[:-1]
        app.transcript.live_start()
        app.transcript.live_append("one\n\ntwo\n\nthree")
        app.transcript.live_flush()
        assert rows(app.transcript)[:-1] == before
        assert app.transcript.unread == 6
        app.transcript.live_append("\n\nfour")
        app.transcript.live_flush()
        assert app.transcript.unread == 8


async def test_entries_that_arrive_meanwhile_stand_before_the_answer() -> None:
    library = Library()
    app = Stage(library, [])
    async with app.run_test(size=SIZE):
        app.transcript.live_append("still going")
        app.transcript.append(Entry(seq=1, kind="tool", time=NOON, title="grep"))
        app.transcript.live_flush()
        shown = [row.strip() for row in rows(app.transcript) if row]
        assert shown == ["▸ grep", "still going"]


async def test_an_answer_without_a_finished_entry_goes_with_the_next_prompt() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        app.transcript.live_append("half an ans")
        app.transcript.live_end()
        assert "half an ans" in rows(app.transcript)[0]
        app.transcript.append(Entry(seq=1, kind="user", time=NOON, title="again", chars=5))
        assert "half" not in "".join(rows(app.transcript))


async def test_an_empty_answer_leaves_no_trace() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        app.transcript.live_start()
        app.transcript.live_end()
        assert rows(app.transcript) == [""] * 24


async def test_a_control_sequence_in_two_portions_is_still_removed() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        for portion in ("red \x1b", "[31", "mtext"):
            app.transcript.live_append(portion)
            app.transcript.live_flush()
        app.transcript.live_end()
        assert rows(app.transcript)[0].strip() == "red text"


async def test_thinking_is_counted_folded_and_opens() -> None:
    library = Library()
    talk = Talk(library)
    talk.add("user", "Why?")
    app = Stage(library, talk.entries)
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.live_append(thinking="first\nsecond")
        app.transcript.live_flush()
        assert "▸ thinking · 2 lines" in rows(app.transcript)[3]
        await pilot.press("up", "enter")
        assert "second" in rows(app.transcript)[5]


async def test_a_resize_while_streaming_stays_at_the_end() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.live_append(LONG)
        app.transcript.live_flush()
        await pilot.resize_terminal(50, 16)
        app.transcript.live_append("the end")
        app.transcript.live_flush()
        assert "the end" in rows(app.transcript)[-1]
