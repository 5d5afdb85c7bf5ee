"""``plimsoll config set`` and ``unset``."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.paths import Paths
from tui_app.settings.rules import Choice, FileOnly, Flag, Group, Number, Rule, Table
from tui_app.settings.spec import OLD_NAMES, SETTINGS
from tui_app.settings.tables import OwnPolicy


@pytest.fixture
def file(plimsoll_home: Path) -> Path:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file


def test_set_writes_and_unset_takes_out(plimsoll: Plimsoll, file: Path) -> None:
    result = plimsoll("config", "set", "theme", "nord")
    assert (result.code, result.out) == (0, f"theme is set in {file}\n")
    assert file.read_text() == 'theme = "nord"\n'
    assert plimsoll("config", "show", "--json").json["theme"] == "nord"
    told = plimsoll("config", "unset", "theme", "--json").json
    assert told == {"key": "theme", "file": str(file), "from": "default", "in_force": "plimsoll-dark"}
    assert file.read_text() == ""


def test_a_variable_that_ranks_above_is_named(
    plimsoll: Plimsoll, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_THEME", "dracula")
    result = plimsoll("config", "set", "theme", "nord")
    assert result.code == 0
    assert result.err == "PLIMSOLL_THEME overrides the file: the change takes effect once that is removed.\n"
    assert plimsoll("config", "set", "theme", "nord", "--json").json["from"] == "environment"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["set", "window", "3"],
            2,
            "window is 3; allowed: a whole number of tokens, at most 100,000,000 and at least 256.",
        ),
        (["set", "windw", "3"], 2, "unknown setting 'windw'. Did you mean window?"),
        (["set", "theme", "nrd"], 2, "theme is 'nrd'; allowed: one of plimsoll-dark"),
        (["set", "keymap.chat.models", "ctrl+g"], 2, "ctrl+g is a key of chat.compact"),
        (["set", "theme"], 2, "Usage: plimsoll config set KEY VALUE"),
        (["unset"], 2, "Usage: plimsoll config unset KEY"),
        (["path", "theme"], 2, "Usage: plimsoll config path\n"),
    ],
)
def test_refusals_say_what_is_allowed(
    plimsoll: Plimsoll, file: Path, words: list[str], code: int, said: str
) -> None:
    result = plimsoll("config", *words)
    assert result.code == code
    assert said in result.err
    assert not file.exists()


@pytest.mark.parametrize("words", [("theme", "nope"), ("window", "abc"), ("policy", "nope")])
def test_every_bad_value_is_told_alike(plimsoll: Plimsoll, file: Path, words: tuple[str, str]) -> None:
    result = plimsoll("config", "set", *words)
    key, value = words
    assert result.code == 2
    assert result.err.startswith(f"{key} is '{value}'; allowed: ")
    assert result.err.endswith(f" Nothing was written to {file}.\n")


def test_a_file_that_was_wrong_before_is_no_wrong_call(plimsoll: Plimsoll, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("windw = 3\n")
    result = plimsoll("config", "set", "theme", "nord")
    assert result.code == 1
    assert "unknown setting 'windw'" in result.err


@pytest.mark.parametrize(
    ("toml", "step"),
    [
        ("windw = 3\n", "Change it there, or remove it: plimsoll config unset windw"),
        (
            '[keymap]\n"chat.compact" = "cmd+k"\n',
            "Change it there, or remove it: plimsoll config unset keymap.chat.compact",
        ),
        ("[keymap\n", "Fix it in an editor, or move the file away to use the defaults."),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_what_to_do_about_it(
    plimsoll: Plimsoll, file: Path, toml: str, step: str
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(toml)
    result = plimsoll("run", "hello")
    assert (result.code, result.out) == (1, "")
    told, next_step = result.err.splitlines()
    assert told.startswith(f"{file}: ")
    assert next_step == step
    if "unset" in step:
        assert plimsoll("config", "unset", step.rsplit(maxsplit=1)[-1]).code == 0
        assert plimsoll("run", "hello").code == 0


def test_doing_what_is_said_mends_any_number_of_wrong_values(plimsoll: Plimsoll, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        'themee = 3\nretries = "x"\ntheme = "nope"\n# kept\nbell_after_s = 5.0\n'
        '\n[keymap]\n"chat.nosuch" = "f5"\n'
        '\n[endpoints.my-box]\nbase_url = "http://127.0.0.1:1/v1"\nfoo = 1\n'
    )
    for _ in range(5):
        told = plimsoll("config", "show")
        assert told.code != 0
        step = next(line for line in told.err.splitlines() if "plimsoll config unset" in line)
        plimsoll("config", "unset", step.rsplit(maxsplit=1)[-1])
    assert plimsoll("config", "show").code == 0
    assert "# kept\nbell_after_s = 5.0\n" in file.read_text()


# Every documented setting can be set with ``plimsoll config set``, or the error says why not.


PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
FILE_ONLY = ("hooks", "language_servers", "mcp")
"""Settings that run commands; the documentation says that they can only be set in the file."""
TEXTS: Mapping[str, str] = {
    "model": "openai:gpt-5-mini",
    "summarization_model": "openai:gpt-5-mini",
    "policy": "sliding-window",
    "theme": "nord",
    "fallback_models": "openai:gpt-5-mini,offline:extractive",
    "store": "postgresql://ada@localhost/plimsoll",
    "pass_variables": "GH_TOKEN,NPM_TOKEN",
    "key_env": "HARBOUR_KEY",
    "base_url": "http://127.0.0.1:8080/v1",
    "otlp_endpoint": "http://127.0.0.1:4318",
    "allow": '["write_file docs/**"]',
    "ask": '["write_file docs/**"]',
    "deny": '["write_file docs/**"]',
    "looks": '["tide_table"]',
    "keymap": '{"chat.compact" = "ctrl+k"}',
    "telemetry": '{otlp_endpoint = "http://127.0.0.1:4318"}',
    "approvals": '{allow = ["write_file docs/**"]}',
    "background_threshold": "0.75",
    "blocking_threshold": "0.96",
    "off": '["plan"]',
    "search": '["todo"]',
    "path_prefix": "/v1beta",
    "headers_env": '{X-Token = "HARBOUR_TOKEN"}',
}
"""Examples where a rule alone does not suggest one."""
WHOLE: Mapping[str, tuple[str, str]] = {
    "endpoints": ("harbour", '{base_url = "http://127.0.0.1:8080/v1"}'),
    "themes": ("dusk", '{base = "plimsoll-dark"}'),
    "policies": ("mine", '{base = "plimsoll"}'),
    "approvals.repositories": ("/home/ada/harbour", '{allow = ["write_file docs/**"]}'),
}
"""Tables with user-chosen keys: an example key, and the smallest valid value."""


def example(key: str, rule: Rule) -> str:
    if key in TEXTS:
        return TEXTS[key]
    match rule:
        case Flag():
            return "true"
        case Number(low=low, whole=whole):
            return str(int(low) if whole else low)
        case Choice(words=words):
            return words[-1]
        case Group(keys=keys):
            inner = next(iter(keys))
            return f"{{{inner} = {example(inner, keys[inner])}}}"
    return "#4fb3d9"


def examples() -> Iterator[tuple[str, str]]:
    """Every key with a value: settings, keys of their tables, and keys of nested tables."""
    for key, each in SETTINGS.items():
        rule = each.rule.rule if isinstance(each.rule, FileOnly) else each.rule
        if key in FILE_ONLY:
            continue
        if isinstance(rule, Table):
            yield from of_table(key, rule)
            continue
        yield key, TEXTS.get(key) or example(key, rule)
        for inner, of in rule.keys.items() if isinstance(rule, Group) and key != "keymap" else ():
            if isinstance(of, Table):
                yield from of_table(f"{key}.{inner}", of)
            else:
                yield f"{key}.{inner}", example(inner, of)


def of_table(key: str, rule: Table) -> Iterator[tuple[str, str]]:
    name, least = WHOLE[key]
    yield key, f'{{"{name}" = {least}}}'
    yield f"{key}.{name}", least
    values = rule.values.keys if isinstance(rule.values, OwnPolicy) else rule.values
    assert isinstance(values, Group)
    yield from ((f"{key}.{name}.{inner}", example(inner, each)) for inner, each in values.keys.items())


def test_the_page_names_what_can_be_set() -> None:
    table = PAGE.read_text().split("## All settings")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert set(named) == {*(key.split(".")[0] for key, _ in examples()), *FILE_ONLY}


@pytest.mark.parametrize(("key", "value"), examples(), ids=[key for key, _ in examples()])
def test_each_can_be_set(plimsoll: Plimsoll, file: Path, key: str, value: str) -> None:
    setting, name, *rest = f"{key}..".split(".")
    if setting in WHOLE and rest[0]:
        plimsoll("config", "set", f"{setting}.{name}", WHOLE[setting][1])
    result = plimsoll("config", "set", key, value)
    assert (result.code, result.err) == (0, "")
    found: object = tomllib.loads(file.read_text())
    for part in key.split("."):
        assert isinstance(found, dict)
        found = found[part]


@pytest.mark.parametrize("key", FILE_ONLY)
def test_commands_stand_in_the_file_only(plimsoll: Plimsoll, file: Path, key: str) -> None:
    result = plimsoll("config", "set", key, "{}")
    assert result.code == 2
    assert "only in the settings file" in result.err
    assert not file.exists()


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_earlier_name_says_todays(plimsoll: Plimsoll, file: Path, old: str) -> None:
    result = plimsoll("config", "set", old, "always")
    assert result.code == 2
    assert f"'{old}' is called {OLD_NAMES[old][0]} now: always, manual, never." in result.err
    assert "Did you mean" not in result.err
    assert not file.exists()
