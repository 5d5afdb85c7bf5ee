"""A denied command stays denied however a shell lets it be spelled; what cannot be known is asked about."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.agent.approvals.rules import Action, judge
from tui_app.agent.approvals.shell import parts_of
from tui_app.settings.tables import parse_rule

ALL = parse_rule("allow", "run_command")
SH = shutil.which("sh") or "/bin/sh"


def ruled(line: str, denied: str = "git push") -> str:
    rules = [ALL, parse_rule("deny", f"run_command {denied}")]
    return judge(Action(tool="run_command", kind="command", subject=line), rules).ruling


@pytest.mark.parametrize(
    "line",
    [
        "git \\\npush",
        "gi\\\nt push",
        "git </dev/null push",
        "git 2>&1 push",
        "git >/dev/null push",
        "git 2>/dev/null push",
        "git > 'a b' push",
        "git &>x push",
        "git >|x push",
        "git {out}>x push",
        "git <<<x push",
        "git <<END push\nEND",
        "git < <(date) push",
        "git 2>\\\n&1 push",
        "git push<x",
        "2>&1 git push",
        ">x git push",
        'gi""t push',
        "g\\it pu'sh'",
        "git $'push'",
        'git $"push"',
        "git${IFS}push",
        "git$IFS'push'",
        "git {push,}",
        "{git,push}",
        "{git,{push,--all}}",
        "GIT_DIR=x git push",
        "alias p='git push'",
        "sh -c 'git >x push'",
        "sh -c 'sh -c \"git 2>&1 push\"'",
        "eval git\\ push",
        "echo $(git >x push)",
        'echo "`git >x push`"',
        "echo ${x:-$(git >x push)}",
        "echo <(git >x push)",
        "ls # it's\ngit >x push",
        "ls # \\\ngit >x push",
        "cat <<END\nit's\nEND\ngit >x push",
        "ls;git\t>x\tpush",
        "if true; then git >x push; fi",
        "f() { git >x push; }; f",
        "'/usr/bin/git' push",
        "echo $'a\\' ; git >x push #'",
    ],
)
def test_a_denied_command_is_found_in_every_spelling(line: str) -> None:
    assert ruled(line) == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "git $x",
        "git $x push",
        'git "$@"',
        "g${x}it push",
        "$x push",
        "x=push; git $x",
        "a=git b=push; $a $b",
        "$(echo git) push",
        "git [p]ush",
        "gi? push",
        'eval "$x"',
        'sh -c "$x"',
        "echo push | xargs git",
        "git $'pu\\x73h'",
        "$(" * 3_000,
    ],
)
def test_what_may_be_denied_is_asked_about(line: str) -> None:
    assert ruled(line) == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "git pull && ls",
        "echo $HOME",
        'git commit -m "$message"',
        'git commit -m "$x, then more"',
        "awk '{print $1}' file",
        "for f in *.py; do wc -l $f; done",
        "x=$(date); echo $x >log 2>&1",
        "cat * | sort | head -3",
        'grep "it\'s" "$file"',
        "$HOME/bin/python -m build",
        "[ -f x ] && echo yes",
        "git log > push",
    ],
)
def test_other_commands_are_not_held_up(line: str) -> None:
    assert ruled(line) == "allow"


def test_a_pattern_may_have_quotes_too() -> None:
    assert ruled("git commit -m 'work in progress'", 'git commit -m "work in progress"') == "deny"


words = st.sampled_from(["touch", "forbidden", "git", "push", "rm", "-rf", "x.y"])
redirections = st.sampled_from(
    ["</dev/null", "2>/dev/null", ">/dev/null", "2>&1", ">>/dev/null", "< /dev/null", "1>&2", ">| /dev/null"]
)
gaps = st.sampled_from([" ", "  ", "\t", " \\\n", "\\\n ", "${IFS}"])


@st.composite
def spelled(draw: st.DrawFn, word: str) -> str:
    """A word with quotes, backslashes and line ends that a shell takes out again."""
    pieces = []
    for letter in word:
        pieces.append(draw(st.sampled_from(["", "", "", "''", '""', "\\\n"])))
        pieces.append(draw(st.sampled_from([letter, letter, f"'{letter}'", f'"{letter}"', f"\\{letter}"])))
    return "".join(pieces)


@st.composite
def disguised(draw: st.DrawFn) -> tuple[str, str]:
    """A command, and another spelling of it."""
    plain = draw(st.lists(words, min_size=1, max_size=4))
    line = draw(spelled(plain[0]))
    for word in plain[1:]:
        for _ in range(draw(st.integers(0, 2))):
            line += " " + draw(redirections)
        line += draw(gaps) + draw(spelled(word))
    return " ".join(plain), line


@given(disguised(), st.sampled_from(["", "true; ", "true && ", ">x ", "A=1 ", "# it's\n", "("]))
def test_no_disguise_makes_a_denied_command_pass(pair: tuple[str, str], before: str) -> None:
    plain, line = pair
    assert ruled(before + line, plain) == "deny"


@given(st.text("gitpush \t\n\\'\"$`{}()<>&|;#*?[]=~!,.x1", max_size=60))
def test_whatever_is_written_is_read_to_its_end(line: str) -> None:
    assert ruled(line) in ("allow", "ask", "deny")


@given(disguised())
def test_the_disguises_are_what_a_shell_takes_off(pair: tuple[str, str]) -> None:
    """The words found are those of the command: nothing else is found by chance."""
    plain, line = pair
    assert tuple(plain.split()) in {part.words for part in parts_of(line)}


def test_a_real_shell_agrees_about_the_spellings(tmp_path: Path) -> None:
    """What the rules must find is what a shell runs."""
    for line in (
        "touch \\\nforbidden",
        "touch </dev/null forbidden",
        'to""uch 2>&1 forb\\idden',
        "touch${IFS}forbidden",
    ):
        subprocess.run([SH, "-c", line], cwd=tmp_path, check=True)
        (tmp_path / "forbidden").unlink()
        assert ruled(line, "touch forbidden") == "deny"
