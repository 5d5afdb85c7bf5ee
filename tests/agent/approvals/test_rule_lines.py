"""Command lines and the rules that match them, in a folder with outward links and executable settings."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.programs import SCRIPTS, shapes
from tui_app.agent.approvals.rules import Action, Verdict, judge
from tui_app.context.shell_line import read_line
from tui_app.settings.tables import Ruling, parse_rule

TABLE = Path(__file__).parent / "rule_lines.tsv"
ROWS = [
    (*row.split("\t")[:2], row.split("\t")[2].encode().decode("unicode_escape"))
    for row in TABLE.read_text("utf-8").splitlines()
    if not row.startswith("# ")
]
DENIED = ("git push", "rm -rf", "curl", "npm publish", "kubectl delete", "cat .env")
FILES = (
    "README.md", "names.txt", "a.tar", "prog.awk", ".env", "x.sql", "json.py.gz", "src/main.py",
    "src/Makefile",
    "docs/a.md", "data/x.json", "data/json.py", "data/ci.yml", "data/tool.toml", "data/conftest.py",
    "data/hooks/x", "scripts/gen.py", "tests/test_a.py",
    "src/new/x", "cmd/x/main.go", "build/x", "pkg/x", "sub/x",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    top = tmp_path_factory.mktemp("lines")
    for name in FILES:
        (top / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (top / "work" / name).write_text("x")
    (top / "outside").write_text("x")
    (top / "work/link_out").symlink_to(top)
    (top / "work/link_file").symlink_to(top / "outside")
    return Folder(top / "work")


def ruled(line: str, folder: Folder, **lists: tuple[str, ...]) -> Verdict:
    names: dict[str, Ruling] = {"allow": "allow", "deny": "deny"}
    rules = [
        parse_rule(names[name], f"run_command {text}".strip())
        for name, texts in lists.items()
        for text in texts
    ]
    return judge(Action(tool="run_command", kind="command", subject=line), rules, folder=folder)


@pytest.mark.parametrize("ruling", ["ask", "allow"])
def test_rules_that_allow(ruling: str, folder: Folder) -> None:
    found = {
        (rule, line): ruled(line, folder, allow=tuple(rule.split(" ; ")))
        for right, rule, line in ROWS
        if right == ruling
    }
    assert len(found) > 200
    assert {key: verdict.because for key, verdict in found.items() if verdict.ruling != ruling} == {}


@pytest.mark.parametrize(("right", "rulings"), [("held", {"ask", "deny"}), ("free", {"allow"})])
def test_rules_that_deny(right: str, rulings: set[str], folder: Folder) -> None:
    lines = [line for kind, _, line in ROWS if kind == right]
    found = {line: ruled(line, folder, allow=("",), deny=DENIED) for line in lines}
    assert len(found) > 50
    assert {line: verdict.because for line, verdict in found.items() if verdict.ruling not in rulings} == {}


SHELLS = [path for name in ("sh", "bash") if (path := shutil.which(name))]
WORDS = r"""abc-=./:,_@%^+~'"\ $`*?[]{}#!;&|<>()"""


@pytest.mark.parametrize("shell", SHELLS)
@given(st.text(WORDS, min_size=1, max_size=12))
@settings(max_examples=150, deadline=None)
def test_a_plain_line_is_read_as_a_shell_reads_it(shell: str, text: str) -> None:
    found = read_line(f"shown {text}")
    if not found.is_plain or len(found.commands) != 1:
        return
    program = 'shown() { printf "%s\\0" shown "$@"; }\n'
    done = subprocess.run([shell, "-c", f"{program}shown {text}"], capture_output=True, check=True)
    assert tuple(done.stdout.decode().split("\0")[:-1]) == found.commands[0].words


def test_every_kind_of_script_has_its_shape() -> None:
    assert shapes().keys() >= SCRIPTS
