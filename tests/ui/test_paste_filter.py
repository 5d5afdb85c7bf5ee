"""Pastes come out of the filter without an escape but their markers; what is typed comes out as it was."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_app.ui.terminal_input import END, FORGET_S, ONE_KEY_S, START, PasteFilter

BYTES = [bytes([byte]) for byte in b"\x1b[](B201~;m \\\x07\r\nx"]
SEQUENCES = [b"\x1b[31m", b"\x1b]0;", START, "é".encode()]
BODY = st.lists(st.sampled_from(BYTES + SEQUENCES), max_size=40).map(b"".join)
"""Anything that looks like a sequence, begins one or ends one."""


def filtered(*pieces: bytes) -> bytes:
    pastes = PasteFilter()
    return b"".join(pastes.feed(piece) for piece in pieces)


def paste(body: bytes) -> bytes:
    return START + body + END


def test_what_is_typed_passes_at_once() -> None:
    pastes = PasteFilter()
    for key in (b"a", b"\x1b", b"\x1b[A", b"\r", b"\x1b[<35;1;2M", b"\x1b[2", b"~", b"\x1b[201~"):
        assert pastes.feed(key) == key


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"plain\r\n\x00\x03\x7f\t", b"plain\r\n\x00\x03\x7f\t", id="nothing to remove"),
        pytest.param(b"\x1b[1;38;2;255;0;0mred\x1b[0m\n", b"red\n", id="colours"),
        pytest.param(b"\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x07 end", b"link end", id="links"),
        pytest.param(b"\x1b(B\x1b[mreset", b"reset", id="character sets"),
        pytest.param(b"\x1bPq#0;2;0\x1b\\image", b"image", id="device strings"),
        pytest.param(b"\x1b]0;no end\nnext line", b"]0;no end\nnext line", id="a string without an end"),
        pytest.param(b"\x1bddp \x1b\x1b", b"ddp ", id="lone escapes"),
        pytest.param(b"\x1b[31\xc3\xa9", b"[31\xc3\xa9", id="a broken sequence is text"),
        pytest.param(b"\x1b[" + b"1;" * 40 + b"m", b"[" + b"1;" * 40 + b"m", id="a sequence without an end"),
        pytest.param(b"a" + START + b"b", b"ab", id="a beginning inside"),
        pytest.param("naïve → ✓".encode(), "naïve → ✓".encode(), id="other alphabets"),
    ],
)
def test_what_stays_of_a_paste(body: bytes, text: bytes) -> None:
    assert filtered(b"x" + paste(body) + b"\r") == b"x" + paste(text) + b"\r"


def test_two_pastes_in_one_read() -> None:
    typed = b"a" + paste(b"\x1b[1mone") + b"\x1b[A" + paste(b"two\x1b") + b"\x1b"
    assert filtered(typed) == b"a" + paste(b"one") + b"\x1b[A" + paste(b"two") + b"\x1b"


@given(before=st.sampled_from([b"", b"x", b"\x1b", b"\x1b[", b"\x1b[20"]), body=BODY, cut=st.data())
def test_pieces_make_no_difference(before: bytes, body: bytes, cut: st.DataObject) -> None:
    assume(END not in body)
    stream = before + paste(body) + b"\x1b[A\r"
    places = sorted(cut.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]
    whole = filtered(stream)
    assert filtered(*pieces) == whole
    assert filtered(*(bytes([byte]) for byte in stream)) == whole
    inside = whole.removeprefix(before + START)[: -len(END + b"\x1b[A\r")]
    assert b"\x1b" not in inside
    assert whole == before + paste(inside) + b"\x1b[A\r"


@given(BODY)
def test_a_paste_is_passed_on_while_it_is_read(body: bytes) -> None:
    """Nothing but a sequence may wait, so that a paste without an end is no blank screen."""
    assume(END not in body)
    pastes = PasteFilter()
    pastes.feed(START)
    assert pastes.feed(body + b"\ntext ").endswith(b"\ntext ")


def test_no_string_waits_for_ever() -> None:
    pastes = PasteFilter()
    pastes.feed(START)
    assert pastes.feed(b"\x1b]" + b"a" * 500) == b""
    assert pastes.feed(b"a" * 1_000) == b"]" + b"a" * 1_500


def test_a_beginning_that_is_late_begins_once_more() -> None:
    """Whoever reads behind the filter has taken the first piece for a key by then."""
    pastes = PasteFilter()
    assert pastes.feed(b"\x1b") == b"\x1b"
    assert pastes.feed(b"[2", ONE_KEY_S) == b"[2"
    assert pastes.feed(b"00~a\x1b[1mb\r" + END) == paste(b"ab\r")


def test_escape_and_letters_typed_by_hand_are_no_paste() -> None:
    pastes = PasteFilter()
    pastes.feed(b"\x1b")
    assert pastes.feed(b"[200~", FORGET_S + 0.1) == b"[200~"
    assert pastes.feed(b"\x1b[A") == b"\x1b[A"
