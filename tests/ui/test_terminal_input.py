"""Any terminal input becomes whole keys, pastes, known reports and valid text."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser

from tui_app.ui.terminal_input import BURST_S, BY_HAND_S, END, SPLIT_S, START, UNENDED_S, InputFilter

Read = bytes | float
"""The bytes of one read, or a pause in seconds."""


def events_of(*reads: Read) -> list[str]:
    """Keys by name, text and pastes in quotes, other events by class name: everything Textual receives."""
    typed, parser, now = InputFilter(), XTermParser(), 0.0
    found: list[str] = []

    def put(passed: bytes) -> None:
        for event in parser.feed(passed.decode()) if passed else ():
            match event:
                case events.Key(is_printable=True, character=str(sign)):
                    found.append(repr(sign))
                case events.Key():
                    found.append(event.key)
                case events.Paste():
                    found.append(f"paste {event.text!r}")
                case _:
                    found.append(type(event).__name__)
        assert parser._timeout_time is None, "nothing is left for the parser to guess"

    for read in (*reads, 9.0):
        until = now + (read if isinstance(read, float) else 0.001)
        if isinstance(read, bytes):
            put(typed.feed(read, now))
        while typed.deadline is not None and typed.deadline <= until:
            now = typed.deadline
            put(typed.expire(now))
        now = until
    return found


def paste(body: bytes) -> bytes:
    return START + body + END


SLOW, FAST = 0.75 * SPLIT_S, BY_HAND_S / 2


@pytest.mark.parametrize(
    ("reads", "keys"),
    [
        pytest.param([b"\x1b"], ["escape"], id="escape"),
        pytest.param([b"\x1b", b"\x1b[0n"], ["escape"], id="escape, as the terminal confirms"),
        pytest.param([b"\x1b\x1b"], ["escape", "escape"], id="escape twice"),
        pytest.param([b"\x1b\x03"], ["escape", "ctrl+c"], id="escape and ctrl+c"),
        pytest.param([b"\x1b", SLOW, b"no"], ["escape", "'n'", "'o'"], id="escape, then letters"),
        pytest.param([b"\x1b", SLOW, b"O", SLOW, b"k"], ["escape", "'O'", "'k'"], id="escape, then OK"),
        pytest.param([b"\x1b", SLOW, b"[A"], ["up"], id="an arrow in two packets"),
        pytest.param([b"\x1bO", SLOW, b"A"], ["up"], id="another arrow in two packets"),
        pytest.param([b"\x1b[1;", SLOW, b"5C"], ["ctrl+right"], id="a longer key in two packets"),
        pytest.param([b"\x1b[<35;1", SLOW, b"0;3M"], ["MouseMove"], id="the mouse in two packets"),
        pytest.param([b"\x1b/Zx"], ["'x'"], id="a terminal of old says what it is"),
        pytest.param([b"\x1b[<35;-1;5M"], [], id="the mouse beyond the window"),
        pytest.param([b"\x1b[M \x90\x85"], [], id="the mouse in bytes"),
        pytest.param([b"\x1b[M \xc4\x80\xc4\x81a"], ["'a'"], id="the mouse in UTF-8"),
        pytest.param([b"\x1b\r"], ["shift+enter"], id="alt+enter"),
        pytest.param([b"\x1b[13;3u"], ["shift+enter"], id="alt+enter, extended"),
        pytest.param([b"\x1b\x1b[D\x1b\x1bOC"], ["ctrl+left", "ctrl+right"], id="alt+arrows, two escapes"),
        pytest.param([b"\x1b[1;3D\x1b[1;9C\x1bb"], ["ctrl+left", "ctrl+right", "ctrl+left"], id="alt+arrows"),
        pytest.param([b"\x1b\x7f"], ["ctrl+w"], id="alt+backspace"),
        pytest.param([b"\x1bx\x1b\xc3\xa9"], ["alt+x", "alt+é"], id="alt+letters"),
        pytest.param([b"\x10\x1b?"], ["ctrl+p", "escape", "'?'"], id="esc, question mark in one piece"),
        pytest.param([b"\x1b!l\x1b/"], ["'!'", "'l'", "'/'"], id="signs of commands behind esc"),
        pytest.param([b"\x1b[27;2;13~\x1b[13;2u"], ["shift+enter"] * 2, id="shift+enter"),
        pytest.param([b"\x1b[27;5;99~\x1b[99;5u"], ["ctrl+c"] * 2, id="ctrl+c, extended"),
        pytest.param([b"\x1b[1089::99;5u\x1b[1081::113;5u"], ["ctrl+c", "ctrl+q"], id="a Russian layout"),
        pytest.param([b"\x1b[27;5;1089~\x1b[1097;5u"], ["ctrl+c", "ctrl+o"], id="the same, not told"),
        pytest.param([b"\x1b[968;5u\x1b[1489;5u"], ["ctrl+c"] * 2, id="a Greek and a Hebrew layout"),
        pytest.param([b"\x1b[1089:1057:99;2;1057u"], ["'\u0421'"], id="a letter of a Russian layout"),
        pytest.param([b"\x1b[27;2;65~\x1b[97:65;2u\x1b[97;2;65u"], ["'A'"] * 3, id="capitals, extended"),
        pytest.param([b"\x1b[97;1:1u\x1b[97;1:3u"], ["'a'"], id="pressed and let go"),
        pytest.param([b"\x1b[1114112u\x1b[55296u\x1b[;;55555555555u\x1b[99~\x1b[1;2y"], [], id="no keys"),
        pytest.param([b"\x1b[[A\x1b[15~\x1bOS\x1b[a\x1b[5^"], ["f1", "f5", "f4", "shift+up", "ctrl+pageup"]),
        pytest.param([b"\x1b[I\x1b[?2026;2$y"], ["AppFocus", "TerminalSupportsSynchronizedOutput"]),
        pytest.param([b"caf\xe9 "], ["'c'", "'a'", "'f'", "'\ufffd'", "' '"], id="Latin-1"),
        pytest.param([b"\xe9", b"\x1b[A"], ["'\ufffd'", "up"], id="Latin-1 and a key"),
        pytest.param([b"\xf0\x9f", b"\x98\x80"], ["'😀'"], id="a sign in two packets"),
        pytest.param([b"\xc2", SLOW, b"\xa3"], ["'£'"], id="a sign that may begin an answer"),
        pytest.param([b"\xc2", b"a\xc2"], ["'\ufffd'", "'a'", "'\ufffd'"], id="half of it"),
        pytest.param([b"\xc2\x9bA"], ["up"], id="an arrow in eight bits"),
    ],
)  # fmt: skip
def test_keys(reads: list[Read], keys: list[str]) -> None:
    assert events_of(*reads) == keys


ANSWERS = (
    b"\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\", b"\x1b]10;rgb:ff/ff/ff\x07", b"\x1b]52;c;aGVs\x07", b"\x1b]l\x1b\\",
    b"\x1b[?62;4;22c", b"\x1b[>41;354;0c", b"\x1bP>|kitty(0.36.4)\x1b\\", b"\x1bP1+r544e=787465726d\x1b\\",
    b"\x1bP1$r0m\x1b\\", b"\x1bP!|00000000\x1b\\", b"\x1b_Gi=31;OK\x1b\\", b"\x1b[?997;1n", b"\x1b[0n",
    b"\x1b[?25u",
    b"\xc2\x9b?62;4;22c", b"\xc2\x9d11;rgb:1c1c/1c1c/1c1c\xc2\x9c", b"\xc2\x90>|xterm(390)\xc2\x9c",
    b"\x1b[8;40;120t", b"\x1b[24;80R", b"\x1b[?24;80;1R", b"\x1b[12;2$y", b"\x1b[?1;2S", b"\x1b[>4;1m",
)  # fmt: skip


@given(answer=st.sampled_from(ANSWERS), cut=st.data())
def test_no_answer_is_text(answer: bytes, cut: st.DataObject) -> None:
    at = cut.draw(st.integers(0, len(answer)))
    assert events_of(b"a", answer[:at], SLOW, answer[at:], b"b") == ["'a'", "'b'"]


KEYS = (b"\x1b[A", b"\x1b[15~", b"\x1b[97;;97u", b"\x1b[<0;3;4M", b"\x1b\r", b"\x1b\x1b[D", START, END)
PARTS = [bytes([byte]) for byte in b"\x1b[O\r\xff;:3u~$"]
NOISE = st.lists(
    st.one_of(
        st.sampled_from(KEYS + ANSWERS),
        st.sampled_from(PARTS),
        st.binary(max_size=6),
        st.sampled_from([FAST, SLOW]),
    ),
    max_size=24,
)


@given(NOISE)
@example([b"\x1b\r", b"\r"])
def test_no_input_is_more_than_the_parser_understands(reads: list[Read]) -> None:
    """The parser neither raises nor blocks on any input, and ctrl+q works after it."""
    assert events_of(*reads, b"\x11")[-1] == "ctrl+q"


@pytest.mark.parametrize(
    ("reads", "keys"),
    [
        pytest.param([START + b"lost", UNENDED_S, b"x"], ["paste 'lost'", "'x'"], id="given up"),
        pytest.param([START + b"lost", FAST, b"\x03"], ["paste 'lost'", "ctrl+c"], id="ctrl+c"),
        pytest.param([START + b"lost", FAST, b"\x1b[113;5u"], ["paste 'lost'", "ctrl+q"], id="ctrl+q"),
        pytest.param([START + b"lost\x11"], ["paste 'lost'", "ctrl+q"], id="ctrl+q in one read"),
        pytest.param([paste(b"caf\xe9 \xf0\x9f\x98")], ["paste 'caf\ufffd \ufffd'"], id="no UTF-8"),
        pytest.param([START + b"a\r", UNENDED_S, b"b\r" + END], ["paste 'a\\r'", "paste 'b\\r'"], id="late"),
    ],
)  # fmt: skip
def test_paste_without_an_end(reads: list[Read], keys: list[str]) -> None:
    assert events_of(*reads) == keys


@pytest.mark.parametrize(
    ("reads", "keys"),
    [
        pytest.param([b"a\rb\rc\r"], ["paste 'a\\rb\\rc\\r'"], id="at once"),
        pytest.param([b"a\rb\rc"], ["paste 'a\\rb\\rc'"], id="no Enter at the end"),
        pytest.param([b"a\r\x1b[31mb\r\x1b[0mc\r"], ["paste 'a\\rb\\rc\\r'"], id="coloured"),
        pytest.param([b"a", b"\r", b"b", b"\r", b"c", b"\r"], ["'a'", "paste '\\rb\\rc\\r'"], id="slow line"),
        pytest.param([b"a\rb\rc\r\x11"], ["paste 'a\\rb\\rc\\r'", "ctrl+q"], id="ctrl+q after it"),
        pytest.param([b"a\rb\rc\r", 0.5, b"d\r"], ["paste 'a\\rb\\rc\\r'", "paste 'd\\r'"], id="in parts"),
        pytest.param([b"a\rb\r"], ["'a'", "enter", "'b'", "enter"], id="two prompts"),
        pytest.param([b"a", FAST, b"\r", FAST, b"\r", FAST, b"\r"], ["'a'", *["enter"] * 3], id="Enter held"),
    ],
)  # fmt: skip
def test_paste_without_brackets(reads: list[Read], keys: list[str]) -> None:
    assert events_of(*reads) == keys


def test_typed_ahead_of_the_first_frame_is_sent() -> None:
    typed = InputFilter()
    assert typed.feed(b"one\rtwo\rand a draft", 1.0, ahead=True) == b""
    assert typed.feed(b"\x1b[?2026;2$y", 1.01) == b"\x1b[?2026;2$y", "what the terminal answers does not wait"
    assert typed.expire(1.0 + BURST_S) == b"one\rtwo\rand a draft"


# The text of a paste, whatever other programs print around it.


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"plain\r\n\x03\x7f\t", "plain\r\n\x03\x7f\t", id="nothing to remove"),
        pytest.param(b"\x1b[1;38;2;255;0;0mred\x1b[0m\n", "red\n", id="colours"),
        pytest.param(b"\x1b]8;;https://a.b\x1b\\link\x1b]8;;\x07 end", "link end", id="links"),
        pytest.param(b"\x1b(B\x1b[mreset", "reset", id="character sets"),
        pytest.param(b"\x1bPq#0;2;0\x1b\\image", "image", id="device strings"),
        pytest.param(b"\x1b]0;no end\nnext line", "]0;no end\nnext line", id="a string without an end"),
        pytest.param(b"\x1bddp \x1b\x1b", "ddp ", id="lone escapes"),
        pytest.param(b"\x1b[31\xc3\xa9", "[31é", id="a broken sequence is text"),
        pytest.param(b"\x1b[" + b"1;" * 40 + b"m", "[" + "1;" * 40 + "m", id="a sequence without an end"),
        pytest.param(b"a" + START + b"b", "ab", id="a beginning inside"),
        pytest.param("naïve → ✓".encode(), "naïve → ✓", id="other alphabets"),
    ],
)
def test_what_stays_of_a_paste(body: bytes, text: str) -> None:
    assert events_of(b"x" + paste(body) + b"\r") == ["'x'", f"paste {text!r}", "enter"]


BYTES = [bytes([byte]) for byte in b"\x1b[](B201~;m \\\x07\r\nx"]
PIECES = [*BYTES, b"\x1b[31m", b"\x1b]0;", START, "é".encode()]
BODY = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
"""Byte strings that resemble escape sequences, their beginnings and ends."""


@given(before=st.sampled_from([b"", b"x", b"\x1bOP"]), body=BODY, cut=st.data())
def test_pieces_make_no_difference(before: bytes, body: bytes, cut: st.DataObject) -> None:
    assume(END not in body)
    stream = before + paste(body) + b"\x1b[A"
    places = sorted(cut.draw(st.sets(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True) if a < b]
    whole = events_of(stream)
    assert events_of(*pieces) == whole
    assert len(whole) == bool(before) + 2


@given(BODY)
def test_a_paste_is_passed_on_while_it_is_read(body: bytes) -> None:
    """Only an incomplete sequence may wait, so that a paste without an end does not freeze the screen."""
    assume(END not in body)
    pastes = InputFilter()
    pastes.feed(START, 0.0)
    assert pastes.feed(body + b"\ntext ", 0.0).endswith(b"\ntext ")


def test_no_string_waits_for_ever() -> None:
    pastes = InputFilter()
    pastes.feed(START, 0.0)
    assert pastes.feed(b"\x1b]" + b"a" * 500, 0.0) == b""
    assert pastes.feed(b"a" * 1_000, 0.0) == b"]" + b"a" * 1_500
