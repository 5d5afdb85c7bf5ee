"""What rules say of an action: deny before ask before allow, and allow only what was meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.agent.approvals.rules import Action, judge, plain_host, proposed_pattern
from tui_app.agent.approvals.shell import plain_words
from tui_app.settings.rules import Refused
from tui_app.settings.tables import SHELL_SIGNS, ApprovalRule, parse_rule
from tui_app.tool_specs import ActionKind


def command(line: str) -> Action:
    return Action(tool="run_command", kind="command", subject=line)


def write(path: str, guarded: str = "") -> Action:
    return Action(tool="write_file", kind="file", subject=path, guarded=guarded)


def rules(**lists: list[str]) -> list[ApprovalRule]:
    return [parse_rule(ruling, text) for ruling, texts in lists.items() for text in texts]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "ruling"),
    [
        ("pytest", "allow"),
        ("pytest -q tests", "allow"),
        ("  pytest   -q", "allow"),
        ("pytests", "ask"),
        ("./pytest", "ask"),
        ("python -m pytest", "ask"),
        ("PYTHONPATH=. pytest", "ask"),
        ("pytest; rm -rf .", "ask"),
        ("pytest && curl x", "ask"),
        ("pytest | tee out", "ask"),
        ("pytest > out", "ask"),
        ("pytest $(rm x)", "ask"),
        ("pytest `rm x`", "ask"),
        ("pytest\nrm x", "ask"),
        ("pytest 'a b'", "ask"),
        ("pytest *", "ask"),
        ("", "ask"),
    ],
)
def test_an_allowed_command_is_its_words_and_nothing_else(line: str, ruling: str) -> None:
    assert judge(command(line), rules(allow=["run_command pytest"])).ruling == ruling


@given(st.text(max_size=40), st.sampled_from(sorted(SHELL_SIGNS)), st.text(max_size=40))
def test_no_pattern_allows_a_sign_of_the_shell(before: str, sign: str, after: str) -> None:
    line = f"pytest {before}{sign}{after}"
    assert judge(command(line), rules(allow=["run_command pytest"])).ruling == "ask"
    assert proposed_pattern(command(line)) == ""


@pytest.mark.parametrize(
    "line",
    ["rm -rf x", "true; rm -rf x", "/bin/rm -rf x", "RM -rf x", "(rm -rf x)", "sudo rm -rf x", "r''m -rf x"],
)
def test_what_is_denied_is_found_anywhere_in_a_line(line: str) -> None:
    assert judge(command(line), rules(deny=["run_command rm -rf"], allow=["run_command"])).ruling == "deny"


@pytest.mark.parametrize(
    ("path", "ruling"),
    [
        ("docs/a.md", "allow"),
        ("docs/deep/a.md", "allow"),
        ("Docs/a.md", "ask"),
        ("src/a.md", "ask"),
        ("docs2/a.md", "ask"),
        ("docs/secret.KEY", "deny"),
        ("secret.key", "deny"),
    ],
)
def test_paths(path: str, ruling: str) -> None:
    lists = rules(allow=["write_file docs/**"], deny=["write_file *.key"])
    assert judge(write(path), lists).ruling == ruling


def test_asking_wins_over_allowing_and_read_only_over_everything() -> None:
    lists = rules(allow=["*"], ask=["write_file src/**"])
    assert judge(write("src/a"), lists).ruling == "ask"
    assert judge(write("b"), lists).ruling == "allow"
    assert judge(write("b"), lists, read_only=True).ruling == "deny"


@pytest.mark.parametrize(
    ("lists", "ruling", "in_read_only"),
    [
        ({}, "ask", "deny"),
        ({"allow": ["*"]}, "allow", "deny"),
        ({"looks": ["tides"]}, "allow", "allow"),
        ({"looks": ["tide?"]}, "allow", "allow"),
        ({"looks": ["tide"]}, "ask", "deny"),
        ({"looks": ["tides"], "ask": ["tides"]}, "ask", "ask"),
        ({"looks": ["tides"], "deny": ["tides"]}, "deny", "deny"),
    ],
)
def test_what_only_looks_by_a_rule_goes_ahead_in_read_only_mode_too(
    lists: dict[str, list[str]], ruling: str, in_read_only: str
) -> None:
    action = Action(tool="tides", kind="other", subject="{}")
    assert judge(action, rules(**lists)).ruling == ruling
    assert judge(action, rules(**lists), read_only=True).ruling == in_read_only


@pytest.mark.parametrize("action", [command("ls"), write("docs/a.md")])
def test_no_rule_says_of_a_tool_that_writes_or_runs_that_it_only_looks(action: Action) -> None:
    assert judge(action, rules(looks=["*", action.tool])).ruling == "ask"
    assert judge(action, rules(looks=["*", action.tool]), read_only=True).ruling == "deny"


def test_a_rule_about_what_only_looks_is_a_tool_and_nothing_else() -> None:
    with pytest.raises(Refused, match="only looks"):
        parse_rule("looks", "tides north")


def test_a_guarded_file_is_allowed_by_nothing() -> None:
    action = write(".git/hooks/pre-commit", guarded="files in .git can make programs run")
    assert judge(action, rules(allow=["*", "write_file .git/**"])).ruling == "ask"
    assert proposed_pattern(action) == ""


@pytest.mark.parametrize(
    ("action", "pattern"),
    [
        (command("pytest -q  tests"), "run_command pytest -q tests"),
        (command("ls | wc"), ""),
        (write("src/a.py"), "write_file src/a.py"),
        (write("odd[1]*.py"), ""),
        (
            Action(tool="web_fetch", kind="address", subject="https://Docs.Example.org/x"),
            "web_fetch docs.example.org",
        ),
        (Action(tool="mail__send", kind="other", subject="{}"), "mail__send"),
    ],
)
def test_what_always_would_allow_is_the_narrowest_rule(action: Action, pattern: str) -> None:
    assert proposed_pattern(action) == pattern
    if pattern:
        assert judge(action, rules(allow=[pattern])).ruling == "allow"


@pytest.mark.parametrize("kind", ["other", "command", "file", "address"])
def test_the_bare_name_of_a_tool_allows_all_of_it(kind: ActionKind) -> None:
    action = Action(tool="send", kind=kind, subject="a; b")
    assert judge(action, rules(allow=["send"])).ruling == "allow"
    assert judge(action, rules(allow=["sen"])).ruling == "ask"


@pytest.mark.parametrize("text", ["", " ", "run_command ls; rm", "x\ny", "a" * 501, "ru;n ls"])
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(Refused):
        parse_rule("allow", text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls -l", ("ls", "-l")),
        ("grep 'a b' x", ("grep", "a b", "x")),
        ('echo "a$b"', None),
        ("echo 'a", None),
        ("A=1 ls", None),
        ("''", None),
        ("ls ~", None),
    ],
)
def test_which_commands_need_no_shell(line: str, words: tuple[str, ...] | None) -> None:
    assert plain_words(line) == words


@pytest.mark.parametrize(
    ("pattern", "address"),
    [
        ("evil.example", "https://evil.example./x"),
        ("evil.example", "https://EVIL.example:443/"),
        ("evil.example", "https://\uff45vil.example/"),
        ("evil.example", "https://evil\u3002example/"),
        ("evil.example", "https://evil.example\uff0e/"),
        ("evil.example", "https://evil.exam\u00adple/"),
        ("evil.example", "https://evil.exam\u200bple/"),
        ("Evil.Example.", "https://evil.example/"),
        ("*.example", "https://evil.example./"),
        ("b\u00fccher.example", "https://xn--bcher-kva.example/"),
        ("xn--bcher-kva.example", "https://B\u00dcCHER.example/"),
        ("*\u00fccher.example", "https://xn--bcher-kva.example./"),
        ("127.0.0.1", "http://2130706433/"),
        ("127.0.0.1", "http://0x7f.1/"),
        ("::1", "http://[0:0:0:0:0:0:0:1]:80/"),
    ],
)
def test_a_host_is_the_same_in_every_spelling(pattern: str, address: str) -> None:
    action = Action(tool="web_fetch", kind="address", subject=address)
    lists = rules(deny=[f"web_fetch {pattern}"], allow=["web_fetch"])
    assert judge(action, lists).ruling == "deny"


@given(st.text(min_size=1, max_size=20))
def test_a_host_has_one_plain_spelling(host: str) -> None:
    assert plain_host(plain_host(host)) == plain_host(host)
