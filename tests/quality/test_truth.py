"""The ground truth: worked out from the calls, and from nothing else."""

import pytest

from tests.context.facts_kit import call, says, shell, user
from tests.quality.cases import Case
from tests.quality.deeds import Call, deeds_of, shell_deeds
from tests.quality.synthetic import CASE, FIRST, LATEST, RULE
from tests.quality.text import files_in, identifiers_in, sentences, steering, typed_in
from tests.quality.truth import plain_command, truth_of


def test_the_truth_of_a_session() -> None:
    truth = truth_of(CASE)
    assert truth.touched == {
        "/w/src/importer.py": ["created"],
        "/w/src/model.py": ["edited"],
        "/w/src/old.py": ["deleted"],
    }
    assert truth.read == {"/w/src/model.py"}
    assert truth.rules == [RULE, "Actually, use semicolons instead of commas."]
    assert truth.corrections == ["Actually, use semicolons instead of commas."]
    assert (truth.first, truth.latest) == (f"{FIRST} {RULE}", LATEST)
    assert [(failure.command, failure.solved) for failure in truth.failures] == [
        ("make lint", True),
        ("pytest -x", False),
    ]
    assert truth.needed_files == {"importer.py"}
    assert truth.needed_identifiers == {"importRows", "rareHelper"}, "names of arguments are no needs"


@pytest.mark.parametrize(
    ("command", "deeds"),
    [
        ("rm -f a.py b.py", [("a.py", "deleted"), ("b.py", "deleted")]),
        ("cd /w && mv a.py lib/b.py", [("/w/a.py", "deleted"), ("/w/lib/b.py", "created")]),
        ("make 2> log.txt; echo x >> notes.md", [("notes.md", "edited")]),
        ("cat > conf.ini <<'EOF'\nrm x.py\nEOF", [("conf.ini", "written")]),
        ("sed -i 's/a/b/' src/x.py | tee out.txt", [("src/x.py", "edited"), ("out.txt", "written")]),
        ("mkdir -p d && cp a.json d/b.json", [("d/b.json", "written")]),
        ("echo \"unbalanced > 'quotes", []),
    ],
)
def test_what_simple_commands_do(command: str, deeds: list[tuple[str, str]]) -> None:
    assert list(shell_deeds(command)) == deeds


def test_failed_and_refused_calls_do_nothing() -> None:
    for outcome in ("failed", "denied", "interrupted"):
        assert list(deeds_of(Call("Write", {"file_path": "a.py"}, "no", outcome))) == []
    patch = Call("apply_patch", {"patch": "*** Delete File: b.py\n*** Update File: c.py"}, "ok", "success")
    assert list(deeds_of(patch)) == [("b.py", "deleted"), ("c.py", "edited")]


def test_a_pipe_hides_whether_its_beginning_worked() -> None:
    red = shell("make check", "error: bad\nexit code 2", "failed")
    for later, solved in (
        (shell("make check | grep error", ""), False),
        (shell("make check | tail -3", "src: error: bad"), False),
        (shell("make check | tail -3", "all good"), True),
        (shell("make", "all good"), True),
        (shell("git add . && make check", "all good"), True),
        (shell("make docs", "all good"), False),
    ):
        case = Case("x", "none", False, (*user("Go on with it."), *red, *later), (), 1)
        assert [failure.solved for failure in truth_of(case).failures] == [solved], later


def test_only_what_a_person_typed_is_typed() -> None:
    declined = call("Edit", {"file_path": "a.py"}, "Rejected. To go on, the user said:\nuse b.py", "denied")
    messages = [
        *user("Do it.<system-reminder>Always be brief.</system-reminder>"),
        *user("[Request interrupted by user]"),
        *says("Never mind."),
        *declined,
    ]
    assert typed_in(messages) == ["Do it.", "use b.py"]


def test_sentences_and_names() -> None:
    text = "Keep it small. Don't add tests!\n- only use tabs here\n```\nnever in code\n```\n$ x=1;{}"
    assert sentences(text) == ["Keep it small.", "Don't add tests!", "only use tabs here"]
    assert steering(["Why not use that one?", "Can you only use tabs?"]) == ["Can you only use tabs?"]
    assert files_in("see src/a_b.py, cmd.Env and console.log; README.MD") == {"a_b.py", "README.MD"}
    assert identifiers_in("a_b.py holds someName and some_name, not Plain") == {"someName", "some_name"}


def test_commands_are_compared_without_decoration() -> None:
    assert plain_command("cd /w && make  check 2>&1 | tail -40") == "make check"
