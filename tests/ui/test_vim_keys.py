"""Vim keys: a table of vim's behaviour, and a property test that no keys move the cursor outside the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.ui.keyboard.vim_keys import ESCAPE, REDO, Pressed, Vim, press

NORMAL = Vim(mode="normal")


def play(text: str, keys: str, vim: Vim = NORMAL, whole: tuple[tuple[int, int], ...] = ()) -> Pressed:
    """Press keys; ``|`` in the text marks the cursor, and ``^[`` is esc."""
    cursor = max(0, text.find("|"))
    done = Pressed(vim, text.replace("|", "", 1), cursor)
    for key in keys.replace("^[", ESCAPE):
        done = press(done.vim, done.text, done.cursor, key, whole)
    return done


def shown(done: Pressed) -> str:
    return f"{done.text[: done.cursor]}|{done.text[done.cursor :]}"


@pytest.mark.parametrize(
    ("text", "keys", "wanted"),
    [
        # motions
        ("one two", "w", "one |two"),
        ("one, two", "w", "one|, two"),
        ("one, two", "W", "one, |two"),
        ("one two", "e", "on|e two"),
        ("one two three", "2w", "one two |three"),
        ("one two| three", "b", "one |two three"),
        ("one\n\ntwo", "ww", "one\n\n|two"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one two", "$", "one tw|o"),
        ("a\nb\n  |c", "gg", "|a\nb\n  c"),
        ("|a\nb\n  c", "G", "a\nb\n  |c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("ab|c\nd", "j", "abc\n|d"),
        ("abc\nde|f", "k", "ab|c\ndef"),
        ("|a-b-c", "f-", "a|-b-c"),
        ("|a-b-c", "f-;", "a-b|-c"),
        ("|a-b-c", "t-;", "a-|b-c"),
        ("|a-b-c", "2f-,", "a|-b-c"),
        ("a-b-|c", "F-", "a-b|-c"),
        ("a-b-|c", "T-;", "a-|b-c"),
        ("|abc", "9l", "ab|c"),
        ("ab|c", "9h", "|abc"),
        # operators
        ("|one two", "dw", "|two"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("|one two", "cwsix^[", "si|x two"),
        ("on|e two", "cwX^[", "on|X two"),
        ("one |two", "db", "|two"),
        ("|one two", "de", "| two"),
        ("one |two", "D", "one| "),
        ("one |two", "C!^[", "one |!"),
        ("|a-b", "df-", "|b"),
        ("|a-b", "dt-", "|-b"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|a\nb\nc", "dG", "|"),
        ("one\n|two", "ccX^[", "one\n|X"),
        ("|abc", "x", "|bc"),
        ("|abc", "2x", "|c"),
        ("ab|c", "X", "a|c"),
        ("|abc", "sXY^[", "X|Ybc"),
        ("|one two", "ywP", "one| one two"),
        ("|one\ntwo", "Yp", "one\n|one\ntwo"),
        ("|one\ntwo", "yyjp", "one\ntwo\n|one"),
        ("one\n|two", "ddP", "|two\none"),
        ("|ab", "xp", "b|a"),
        ("|ab", "x3p", "baa|a"),
        # text objects
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "daw", "on|e"),
        ('say "he|llo" now', 'di"', 'say "|" now'),
        ('say "he|llo" now', 'da"', "say |now"),
        ('|say "hello"', 'ci"bye^[', 'say "by|e"'),
        ("f(a, (b|), c)", "di(", "f(a, (|), c)"),
        ("f(a, (b), |c)", "da(", "|f"),
        ("f(a, (b), |c)", "cibx^[", "f(|x)"),
        ("x[{1|2}]", "di{", "x[{|}]"),
        # other changes
        ("|abc", "rx", "|xbc"),
        ("|abc", "3rx", "xx|x"),
        ("|abc", "4rx", "|abc"),
        ("|aBc", "~~", "Ab|c"),
        ("|a\n  b\nc", "J", "a| b\nc"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("|b", "ia^[", "|ab"),
        ("|a", "ab^[", "a|b"),
        ("  b|c", "Ia^[", "  |abc"),
        ("|ab", "Ac^[", "ab|c"),
        ("a|b\nc", "oX^[", "ab\n|X\nc"),
        ("a\n|b", "OX^[", "a\n|X\nb"),
        ("|", "3iab^[", "ababa|b"),
        # repeat
        ("|one two three", "dw.", "|three"),
        ("|abcdef", "x3.", "|ef"),
        ("|a b c", "cwX^[w.", "X |X c"),
        ("|a\nb", "A!^[j.", "a!\nb|!"),
        ('"a" |"b"', 'ci"x^[0.', '"|x" "x"'),
        # visual selection
        ("|one two", "vey", "|one two"),
        ("|one two", "ved", "| two"),
        ("one |two", "vbd", "|wo"),
        ("|one two", "vecX^[", "|X two"),
        ("one t|wo", "viwd", "one| "),
        ("a\n|b\nc", "Vd", "a\n|c"),
        ("|a\nb\nc", "Vjd", "|c"),
        ("|abcd", "vld.", "|"),
        ("|abc", "vl~", "|ABc"),
        ("|abc", "v^[x", "|bc"),
        ("a|bc", "vlod", "|a"),
        # no effect
        ("|abc", "d^[x", "|bc"),
        ("|abc", "fz", "|abc"),
        ("|abc", "di(", "|abc"),
        ("|", "xdd", "|"),
    ],
)  # fmt: skip
def test_keys_do_what_vim_does(text: str, keys: str, wanted: str) -> None:
    done = play(text, keys)
    assert shown(done) == wanted
    assert done.vim.mode == "normal"


@pytest.mark.parametrize(
    ("text", "keys", "effect", "times"),
    [
        ("a\n|b", "j", "down", 1),
        ("|a\nb", "k", "up", 1),
        ("|a\nb", "j", "", 1),
        ("|a", "3u", "undo", 3),
        ("|a", REDO, "redo", 1),
        ("|a", "dk", "", 1),
    ],
)
def test_what_the_prompt_itself_does(text: str, keys: str, effect: str, times: int) -> None:
    done = play(text, keys)
    assert (done.effect, done.times) == (effect, times)


def test_a_selection_holds_the_sign_under_the_cursor() -> None:
    assert play("|one two", "ve").selection == (0, 3)
    assert play("one |two", "vb").selection == (5, 0)
    assert play("a\n|b\nc", "V").selection == (2, 4)
    assert play("|one", "w").selection == (2, 2)


def test_what_is_changed_as_one_is_never_cut() -> None:
    text, chip = "a [pasted 3 lines] b", ((2, 18),)
    assert play(text, "wx", whole=chip).text == "a  b"
    assert play(text, "wwdw", whole=chip).text == "a  b"
    assert play(text, "w~", whole=chip).text == text
    assert play(text, "wrx", whole=chip).text == text


def test_a_command_is_begun_on_an_empty_prompt() -> None:
    for sign in "/!@":
        done = play("", sign)
        assert (done.text, done.cursor, done.vim.mode) == (sign, 1, "insert")
    assert play("|ab", "/").text == "ab"


KEYS = st.text(
    st.sampled_from([*"hjklwbeWBE0^$gGfFtT;,dcyxXDCYpPrJ~uiaIAoOvVs.\"'()[]{}123 z/", ESCAPE, REDO]),
    max_size=25,
)


@given(st.text("ab_ -.\n\t\"'()[]{}é漢\u0301", max_size=30), st.integers(-2, 40), KEYS)
def test_no_keys_lead_out_of_the_text(text: str, cursor: int, keys: str) -> None:
    done = Pressed(NORMAL, text, cursor)
    for key in keys:
        done = press(done.vim, done.text, done.cursor, key, ((1, 3),))
        assert 0 <= done.cursor <= len(done.text)
        low, high = sorted(done.selection)
        assert 0 <= low <= high <= len(done.text)
        if done.vim.mode == "normal":
            line_end = done.text[done.cursor : done.cursor + 1] in ("", "\n")
            at_start = done.cursor == 0 or done.text[done.cursor - 1] == "\n"
            assert not line_end or at_start, "on a character unless the line is empty"
