"""The words of a rule that denies are found whatever stands between and before them; others are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.approvals.test_denied_commands import ALL, ruled
from tui_app.agent.approvals.rules import PERHAPS, Action, judge
from tui_app.settings.tables import parse_rule

PUSH = "git push"


@pytest.mark.parametrize(
    ("line", "ruling"),
    [
        # Options between the words, and their values.
        ("git push", "deny"),
        ("git -C . push origin HEAD", "deny"),
        ("git -C. push", "deny"),
        ("git -C . -C .. push", "deny"),
        ("git --no-pager push", "deny"),
        ("git -P push", "deny"),
        ("git -c core.pager=cat push", "deny"),
        ("git --git-dir=.git push", "deny"),
        ("git --git-dir .git --work-tree . push", "deny"),
        ("git -- push", "deny"),
        ("git -C 'a b' push", "deny"),
        ("git -C `pwd` push", "deny"),
        ("GIT -C . PUSH", "deny"),
        # Whose value it is cannot be told, or what a word stands for.
        ("git --unheard-of thing push", "ask"),
        ("git -c alias.p=push p", "ask"),
        ("git -c 'alias.p=!git push' p", "ask"),
        ("git --config-env=alias.p=X p", "ask"),
        ("git -c include.path=x p", "ask"),
        ("git config alias.p push", "ask"),
        ("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.p GIT_CONFIG_VALUE_0=push git p", "ask"),
        ("git -C . $x", "ask"),
        ("git -C $x status", "ask"),
        ('git "$x" push', "ask"),
        ('"$x" -C . push', "ask"),
        ("git -C . pu[s]h", "ask"),
        ("git -C . {push,}", "deny"),
        ("echo push | xargs git -C .", "ask"),
        # What stands before them.
        ("env X=1 git push", "deny"),
        ("env X=1 git -C . push", "deny"),
        ("X=1 git -C . push", "deny"),
        ("env -u X git push", "deny"),
        ("command git push", "deny"),
        ("command git -C . push", "deny"),
        ("/usr/bin/git push", "deny"),
        ("/usr/bin/git -C . push", "deny"),
        ("sudo -u me git push", "deny"),
        ("sudo -u me git -C . push", "deny"),
        ("exec git -C . push", "deny"),
        ("nice -n 5 git push", "deny"),
        ("nice -n 5 git -C . push", "ask"),
        ("timeout 5 git -C . push", "ask"),
        ("find . -exec git -C {} push ;", "ask"),
        ("/usr/lib/git-core/git-push origin", "deny"),
        ("git-push", "deny"),
        # Quotes, and lines in lines.
        ("git 'push'", "deny"),
        ("git -C . 'push'", "deny"),
        ('bash -c "git push"', "deny"),
        ('bash -c "git -C . push"', "deny"),
        ("bash -c 'sh -c \"git -C . push\"'", "deny"),
        ("eval 'git -C . push'", "deny"),
        ("true\ngit -C . push", "deny"),
        ("true && git -C . push", "deny"),
        ("true || git -C . push", "deny"),
        ("true; git -C . push", "deny"),
        ("true & git -C . push", "deny"),
        ("(git -C . push)", "deny"),
        ("{ git -C . push; }", "deny"),
        ("echo `git -C . push`", "deny"),
        ("echo $(git -C . push)", "deny"),
        ("cat <(git -C . push)", "deny"),
        ("if git -C . push; then true; fi", "deny"),
        ("git -C . 2>&1 push", "deny"),
        ("git -C . \\\n push", "deny"),
        # A false alarm is the price.
        ("echo git push", "deny"),
        ("make -C git push", "deny"),
        ("git log --grep 'git push'", "deny"),
        ("git commit -m 'git -C . push'", "ask"),
        ("git --unheard-of log push", "ask"),
    ],
)
def test_a_rule_that_denies_is_read_widely(line: str, ruling: str) -> None:
    assert ruled(line, PUSH) == ruling


@pytest.mark.parametrize(
    "line",
    [
        "git status",
        "git -C . status",
        "git -C push status",
        "git --no-pager log push",
        "git -p log push",
        "git -c user.name=push log",
        "git log --grep push",
        "git log --grep=push",
        "git log -S push",
        "git log origin/push",
        "git stash push",
        "git checkout -b push",
        "git branch --list push",
        "git commit -m push",
        "git commit -m 'fix push'",
        "git commit --amend -m 'then git it, and push'",
        "git fetch --all && git log",
        "git diff -- push.py",
        "git pull; docker push x",
        'git -C "$dir" status',
        "git --git-dir=.git log --oneline -n 5",
        "grep -rn push git",
        "grep -rn git . | grep push",
        "ls -la git/ push",
        "docker -D push x",
        "python -m pytest -k push",
        "cp git.txt push.txt",
        'cp "$a" "$b"',
        'timeout 60 pytest "$file"',
        "X=git make",
        "git-lfs status",
        "git log --format='%an pushed'",
    ],
)
def test_other_commands_are_not_held_up(line: str) -> None:
    assert ruled(line, PUSH) == "allow"


@pytest.mark.parametrize(
    ("denied", "line", "ruling"),
    [
        ("rm -rf", "rm -fr x", "deny"),
        ("rm -rf", "rm -r -f x", "deny"),
        ("rm -rf", "rm -rfv x", "deny"),
        ("rm -rf", "rm x -rf", "deny"),
        ("rm -rf", "rm -r x", "allow"),
        ("rm -rf", "rm -f *.pyc", "allow"),
        ("rm -rf /", "rm -rf -- /", "deny"),
        ("rm -rf /", "rm / -rf", "deny"),
        ("rm -rf /", "rm -rf x", "allow"),
        ("git push --force", "git push origin main --force", "deny"),
        ("git push --force", "git -C . push origin --force", "deny"),
        ("git push --force", "git push origin --forc", "ask"),
        ("git push --force", "git push origin main", "allow"),
        ("git push -f", "git push -uf origin", "deny"),
        ("git commit --no-verify", "git commit -m x --no-verify", "deny"),
        ("docker compose down", "docker-compose down", "deny"),
        ("docker compose down", "docker compose -f x.yml down", "ask"),
        ("docker compose down", "docker compose --file=x.yml down", "deny"),
        ("kubectl delete", "kubectl --namespace=prod delete pod x", "deny"),
        ("kubectl delete", "kubectl -n prod delete pod x", "ask"),
        ("kubectl delete", "kubectl -n prod get pods", "allow"),
        ("kubectl --context=prod delete", "kubectl --context prod delete x", "ask"),
        ("npm publish", "npm --access public publish", "ask"),
        ("npm publish", "npm run publish", "allow"),
        ("cargo publish", "cargo +nightly publish", "deny"),
        ("make deploy", "make -j 4 deploy", "ask"),
        ("make deploy", "make ENV=prod deploy", "deny"),
        ("make deploy", "make -j4 build", "allow"),
    ],
)
def test_options_of_a_rule_and_of_other_programs(denied: str, line: str, ruling: str) -> None:
    assert ruled(line, denied) == ruling


@pytest.mark.parametrize("line", ["git -C . push", "git -c alias.p=push p", "git --unheard-of thing push"])
def test_options_make_no_rule_that_allows_wider(line: str) -> None:
    rules = [parse_rule("allow", "run_command git push"), parse_rule("allow", "run_command git status")]
    action = Action(tool="run_command", kind="command", subject=line)
    assert judge(action, rules).ruling == "ask"
    assert judge(action, [*rules, parse_rule("deny", "run_command git pull")]).ruling == "ask"


def test_what_may_be_denied_is_for_a_person_whatever_other_rules_ask() -> None:
    rules = [ALL, parse_rule("ask", "run_command git"), parse_rule("deny", "run_command git push")]
    verdict = judge(Action(tool="run_command", kind="command", subject="git $x"), rules)
    assert (verdict.ruling, verdict.firm, verdict.rule) == ("ask", True, "run_command git push")
    assert verdict.because.endswith(PERHAPS)


options = st.lists(
    st.sampled_from(["-C .", "-c a.b=c", "--no-pager", "-p", "--git-dir=.git", "--work-tree .", "--bare"]),
    max_size=6,
)
befores = st.sampled_from(["", "env A=1 ", "sudo -u me ", "A=1 ", "command ", "true && ", "(", "exec "])


@given(options, befores, st.sampled_from(["git", "/usr/bin/git", "'git'", "gi\\t"]))
def test_no_options_of_git_let_a_denied_command_pass(between: list[str], before: str, git: str) -> None:
    assert ruled(f"{before}{' '.join([git, *between, 'push'])}", PUSH) == "deny"


@given(options, befores)
def test_options_of_git_make_no_other_command_denied(between: list[str], before: str) -> None:
    assert ruled(f"{before}{' '.join(['git', *between, 'log push'])}", PUSH) == "allow"


@pytest.mark.parametrize(
    "line",
    ["git -a " * 2_800, "git -a b " * 200 + "push", "git " + "-C . " * 100 + "push"],
    ids=["commands", "values", "folders"],
)
def test_a_line_of_options_without_end_is_asked_about(line: str) -> None:
    # One that took all readings of all words into account would never come to its end.
    assert ruled(line, PUSH) == "ask"


def test_a_long_list_of_files_is_no_reason_to_ask() -> None:
    assert ruled(f"git add {' '.join(f'file{number}.py' for number in range(1_500))}", PUSH) == "allow"
