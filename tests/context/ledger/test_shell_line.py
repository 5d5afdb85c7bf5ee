"""Shell lines: the programs they run, their effects on files, and which of them are the same run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.ledger.effects import file_effects
from tui_app.context.ledger.ledger import is_look
from tui_app.context.shell_line import hides_failure, producer, simple_commands


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("", []),
        ("FOO=1 make -j4 check 2>&1", ["make"]),
        ("/usr/bin/git status && ls | wc -l", ["git", "ls", "wc"]),
        ("cat > a.ini <<'EOF'\nrm important.txt\nEOF", ["cat"]),
        ("cat <<'EOF' | sed 's/a/b/' > out.txt\nrm b.py\nEOF", ["cat", "sed"]),
        ("grep 'rm x.py' src # rm y.py", ["grep"]),
        ("echo \"unbalanced > 'quotes", ["echo"]),
    ],
)
def test_the_programs_of_a_line_are_read_by_its_grammar(line: str, programs: list[str]) -> None:
    assert [command.program for command in simple_commands(line)] == programs


def test_words_are_as_the_program_is_given_them() -> None:
    [command] = simple_commands(r"""FOO=1 git commit -m "a \"b\" c" 'd e' f\ g $H > out.txt""")
    assert command.words == ("git", "commit", "-m", 'a "b" c', "d e", "f g", "$H")
    assert command.writes == (("out.txt", False),)


def test_signs_of_every_plane_are_words() -> None:
    [command] = simple_commands("echo {\U000ffd2a,é} \U0001f680 '山'")
    assert command.words == ("echo", "{\U000ffd2a,é}", "\U0001f680", "山")


def test_loops_conditions_and_substitutions_are_nested() -> None:
    line = "make; for i in 1 2; do rm $i; done; if test -f a; then mv a b; fi; echo $(date)"
    nested = {command.program: command.nested for command in simple_commands(line)}
    assert nested == {"make": False, "rm": True, "test": True, "mv": True, "echo": False, "date": True}


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("a | b", "a | b"),
        ("cd /w && a -x 2>&1 | grep 'p|q' | sort | uniq -c | head -3", "a -x"),
        ("a && b | wc -l", "a && b"),
        ("grep x y", "grep x y"),
        ("a | grep 'unclosed", "a"),
        ("", ""),
        ("uv run pytest -q", "pytest -q"),
        ("poetry run python -m pytest", "pytest"),
        ("python3.11 -m pytest -q", "pytest -q"),
        (".venv/bin/python -m pytest", "pytest"),
        ("npx --yes eslint .", "eslint ."),
        ("timeout 60 make check", "make check"),
        ("timeout -k 5 --signal KILL 60s make check", "make check"),
        ("time -p make check", "make check"),
        ("sudo env FOO=1 make check > out.txt", "make check"),
        ("FOO=1 make check 2>/dev/null", "make check"),
        ("ruff check . && .venv/bin/python -m pytest", "ruff check . && pytest"),
        ("python app", "python app"),
        ("python -m ruff check .", "ruff check ."),
    ],
)
def test_two_lines_are_one_run_whatever_finds_runs_and_filters_it(line: str, same: str) -> None:
    assert producer(line) == same


@pytest.mark.parametrize(
    ("line", "hides"),
    [
        ("make", False),
        ("make && make docs", False),
        ("cd x && make 2>&1", False),
        ("make | tail -5", True),
        ("make || true", True),
        ("make; echo done", True),
    ],
)
def test_an_exit_code_is_that_of_the_last_program(line: str, hides: bool) -> None:
    assert hides_failure(line) is hides


@pytest.mark.parametrize(
    ("line", "looks"),
    [
        ("ls -la", True),
        ("cd /w && git diff | head -20", True),
        ("git --no-pager log --oneline", True),
        ("cat a.py; sed -n 1,5p b.py", True),
        ("git commit -m x", False),
        ("ls && make", False),
        ("pytest -q | tail -3", False),
        ("", False),
    ],
)
def test_what_only_looks(line: str, looks: bool) -> None:
    assert is_look(line) is looks


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rm -f old.py", ["old.py deleted"]),
        ("git rm a.py; git -C d mv e.py f.py", ["a.py deleted", "d/e.py moved d/f.py"]),
        ("git rm --cached old.py; git rm -n a.py", []),
        ("mv a.py lib/b.py", ["a.py moved lib/b.py"]),
        ("mv a.py lib/", ["a.py moved lib/a.py"]),
        ("mv a.py b.py lib", ["a.py moved lib/a.py", "b.py moved lib/b.py"]),
        ("cp a.py lib/", ["lib/a.py written"]),
        ("touch 'new file.txt'", ["new file.txt created"]),
        ("cat > conf.ini << 'EOF'\nrm important.txt\nEOF", ["conf.ini written"]),
        ("echo done >> log.txt 2> /dev/null", ["log.txt edited"]),
        ("cat a.py > /dev/null", ["a.py read"]),
        ("sed -i 's/a/b/' src/x.py", ["src/x.py edited"]),
        ("perl -pi -e 's/x/y/' a.pl", ["a.pl edited"]),
        ("cd sub && sed -n 1,5p x.py; cat y.md", ["sub/y.md read"]),
        ("cd /w && cd src && rm a.py", ["/w/src/a.py deleted"]),
        ("FOO=1 sudo tee -a /etc/hosts < in", ["/etc/hosts edited"]),
        ("grep -rn 'rm x.py' src | head", []),
        ("rm -rf $BUILD *.pyc build/", ["*.pyc deleted", "build deleted"]),
        ("echo \"unbalanced > 'quotes", []),
        ("git commit -am x", [". committed"]),
        ("git add -A && git add src/a.py", [". added", "src/a.py added"]),
        ("git checkout -- a.py; git clean -fd; git reset --hard", ["a.py undone", ". cleaned", ". undone"]),
        ("git checkout main; git checkout other -- a.py; git restore --staged a.py; git clean -n", []),
        ("git restore --source=HEAD a.py", ["a.py undone"]),
    ],
)  # fmt: skip
def test_effects_on_files(line: str, told: list[str]) -> None:
    effects = [f"{each.path} {each.deed} {each.to}".strip() for each in file_effects(line)]
    assert effects == told


_PIECES = st.lists(
    st.sampled_from(
        ["git", "rm", "a.py", "&&", "||", "|", ";", "\n", "(", ")", "'", '"', "$(", "`", ">", "2>&1", "<<EOF",
         "EOF", "-m", "for", "do", "done", "é", "\x00", "\\", "mv", "cd", "pytest", "env", "timeout", "60"]
    ),
    max_size=12,
)  # fmt: skip


@given(_PIECES.map(" ".join) | st.text(max_size=80))
def test_any_line_can_be_read(line: str) -> None:
    assert all(command.text is not None for command in simple_commands(line))
    assert list(file_effects(line)) == list(file_effects(line))
    assert producer(producer(line)) is not None
    assert isinstance(hides_failure(line), bool)
