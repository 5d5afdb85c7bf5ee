"""Every setting that the pages name can be set by ``plimsoll config set``, or says why it cannot."""

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

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
FILE_ONLY = ("hooks", "mcp")
"""Commands that run: the page says that they stand in the file only."""
TEXTS: Mapping[str, str] = {
    "model": "openai:gpt-5-mini",
    "summarization_model": "openai:gpt-5-mini",
    "policy": "sliding-window",
    "theme": "nord",
    "fallback_models": "openai:gpt-5-mini,offline:extractive",
    "store": "postgresql://ada@localhost/plimsoll",
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
}
"""Examples of what a rule alone does not tell."""
WHOLE: Mapping[str, tuple[str, str]] = {
    "endpoints": ("harbour", '{base_url = "http://127.0.0.1:8080/v1"}'),
    "themes": ("dusk", '{base = "plimsoll-dark"}'),
    "policies": ("mine", '{base = "plimsoll"}'),
}
"""Tables whose keys a person chooses: a name, and the least that stands under it."""


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
    """Every key with a value: settings, keys of their tables, and keys of tables in them."""
    for key, each in SETTINGS.items():
        rule = each.rule.rule if isinstance(each.rule, FileOnly) else each.rule
        if key in FILE_ONLY:
            continue
        if isinstance(rule, Table):
            name, least = WHOLE[key]
            yield key, f"{{{name} = {least}}}"
            yield f"{key}.{name}", least
            values = rule.values.keys if isinstance(rule.values, OwnPolicy) else rule.values
            assert isinstance(values, Group)
            yield from (
                (f"{key}.{name}.{inner}", example(inner, each)) for inner, each in values.keys.items()
            )
            continue
        yield key, TEXTS.get(key) or example(key, rule)
        if isinstance(rule, Group) and key != "keymap":
            yield from ((f"{key}.{inner}", example(inner, of)) for inner, of in rule.keys.items())


@pytest.fixture
def file(plimsoll_home: Path) -> Path:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file


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
