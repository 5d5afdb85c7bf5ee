"""Editing the settings file: checked first, and only that one value changes."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui_app.paths import Paths
from tui_app.settings import SettingsError, load_settings
from tui_app.settings.edit import RefusedChange, SettingsFile, StillWrong, Unchangeable, edited
from tui_app.settings.sources import Origin, WrongFile

FILE = """\
# Ada's settings
model = "openai:gpt-5-mini"   # cheap

# at night
theme = 'nord' # calm
window=1000

# fingers
[keymap] # mine
"chat.compact" = "ctrl+k" # k for keep

# the server below the stairs
[endpoints.harbour]
base_url = "http://127.0.0.1:8080/v1"
window = 32_000

# slow days
[policies.careful]
base = "plimsoll"
[[hooks.preTool]]
command = ["true"] # always
"""
LINES = FILE.splitlines()


@pytest.fixture
def file(tmp_path: Path) -> SettingsFile:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "home")})
    paths.config.mkdir(parents=True)
    paths.config_file.write_text(FILE)
    return SettingsFile(paths, {})


def text_of(file: SettingsFile) -> str:
    return file.paths.config_file.read_text()


def with_line(number: int, new: str) -> list[str]:
    return [*LINES[:number], new, *LINES[number + 1 :]]


@pytest.mark.parametrize(
    ("key", "value", "lines"),
    [
        ("theme", "dracula", with_line(4, 'theme = "dracula" # calm')),
        ("window", "2000", with_line(5, "window=2000")),
        ("keymap.chat.compact", "f5", with_line(9, '"chat.compact" = "f5" # k for keep')),
        ("endpoints.harbour.window", "64000", with_line(14, "window = 64000")),
        ("plain", "yes", [*LINES[:6], "plain = true", *LINES[6:]]),
        ("keymap.chat.models", "f6", [*LINES[:10], '"chat.models" = "f6"', *LINES[10:]]),
        ("endpoints.harbour.key_env", "KEY", [*LINES[:15], 'key_env = "KEY"', *LINES[15:]]),
    ],
)
def test_one_line_changes_and_the_rest_stays(
    file: SettingsFile, key: str, value: str, lines: list[str]
) -> None:
    file.set(key, value)
    assert text_of(file).splitlines() == lines


def test_unset_takes_the_line_out_and_the_built_in_value_counts(file: SettingsFile) -> None:
    assert file.unset("theme").theme == "plimsoll-dark"
    assert text_of(file).splitlines() == [*LINES[:4], *LINES[5:]]
    assert file.unset("keymap").keymap == {}
    assert "# the server below the stairs\n[endpoints.harbour]" in text_of(file)


def test_a_new_table_stands_behind_all_others(file: SettingsFile) -> None:
    settings = file.set("themes.dusk", '{base = "plimsoll-dark", accent = "#ffaa00"}')
    assert settings.themes["dusk"]["accent"] == "#ffaa00"
    assert text_of(file).startswith(FILE)


def test_the_first_value_makes_the_file(tmp_path: Path) -> None:
    file = SettingsFile(Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "new")}), {})
    assert file.set("timeline", "off").timeline is False
    assert text_of(file) == "timeline = false\n"
    assert file.paths.config_file.stat().st_mode & 0o077 == 0


def test_a_link_to_the_file_stays_a_link(file: SettingsFile, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    file.paths.config_file.rename(kept)
    file.paths.config_file.symlink_to(kept)
    file.set("theme", "dracula")
    assert file.paths.config_file.is_symlink()
    assert "dracula" in kept.read_text()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("theme", "nrd", ["theme is 'nrd'", "one of plimsoll-dark"]),
        ("thme", "nord", ["unknown setting 'thme'", "Did you mean theme?"]),
        ("window", "3", ["window is 3", "at least 256"]),
        ("keymap.chat.compakt", "f5", ["keymap.chat.compakt", "chat.compact"]),
        ("keymap.chat.models", "ctrl+k", ["ctrl+k is a key of chat.compact", "Choose another"]),
        ("endpoints.openai.window", "500", ["endpoints.openai.window", "none of offline"]),
        ("endpoints.lab.window", "500", ["endpoints.lab.base_url is missing"]),
        ("background_threshold", "0.99", ["above blocking_threshold"]),
        ("hooks", "{}", ["only in the settings file"]),
        ("theme.x", "1", ["no keys of its own"]),
    ],
)
def test_what_would_be_wrong_is_refused_and_nothing_is_written(
    file: SettingsFile, key: str, value: str, words: list[str]
) -> None:
    with pytest.raises(SettingsError) as caught:
        file.set(key, value)
    assert [word for word in (str(file.paths.config_file), *words) if word not in str(caught.value)] == []
    assert text_of(file) == FILE


def test_a_file_that_is_wrong_elsewhere_is_mended_first(file: SettingsFile) -> None:
    file.paths.config_file.write_text('windw = 3\ntheme = "nrd"\n')
    with pytest.raises(SettingsError, match="windw"):
        file.set("theme", "nord")
    with pytest.raises(StillWrong, match="theme is 'nrd'") as still:
        file.unset("windw")
    assert text_of(file) == 'theme = "nrd"\n', "one wrong value goes before the other"
    assert still.value.key == "theme"
    file.unset("theme")
    assert text_of(file) == ""
    with pytest.raises(RefusedChange, match="unknown setting"):
        file.unset("windw")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[keymap]\n"chat.nosuch" = "f5"\n', "keymap.chat.nosuch"),
        ('[keymap]\nchat.nosuch = "f5"\n', "keymap.chat.nosuch"),
        ('[endpoints.my-box]\nbase_url = "http://127.0.0.1:1/v1"\nfoo = 1\n', "endpoints.my-box.foo"),
        ('[themes.dusk]\nbase = "plimsoll-dark"\nbackround = "#123456"\n', "themes.dusk.backround"),
        ('[themes."a.b"]\nbase = "plimsoll-dark"\nnope = 1\n', "themes.a.b.nope"),
    ],
)
def test_what_no_table_may_hold_is_taken_out(file: SettingsFile, text: str, key: str) -> None:
    file.paths.config_file.write_text(f"# mine\n{text}")
    with pytest.raises(WrongFile):
        file.settings()
    file.unset(key)
    file.settings()
    assert key.rpartition(".")[2] not in text_of(file)
    assert text_of(file).startswith("# mine\n")


def test_a_file_that_is_no_toml_is_left_alone(file: SettingsFile) -> None:
    file.paths.config_file.write_text("model = \n")
    with pytest.raises(SettingsError, match="not valid TOML"):
        file.set("theme", "nord")
    assert text_of(file) == "model = \n"


def test_where_values_come_from(file: SettingsFile) -> None:
    env = {"PLIMSOLL_THEME": "dracula", "NO_COLOR": "1", "PLIMSOLL_KEYMAP": '{"chat.help" = "f7"}'}
    file = SettingsFile(file.paths, env, {"plain": True, "policy": None})
    assert file.origin("model") == Origin("file")
    assert file.origin("theme") == Origin("environment", "PLIMSOLL_THEME")
    assert file.origin("color") == Origin("environment", "NO_COLOR")
    assert file.origin("plain") == Origin("flag", "--plain")
    assert file.origin("keymap.chat.compact") == Origin("file")
    assert file.origin("keymap.chat.help") == Origin("environment", "PLIMSOLL_KEYMAP")
    assert file.origin("keymap.chat.models") == Origin()
    assert [file.origin(key).is_forced for key in ("model", "theme", "plain", "policy")] == [
        False, True, True, False,
    ]  # fmt: skip


def test_line_ends_of_another_system_stay(file: SettingsFile) -> None:
    file.paths.config_file.write_bytes(FILE.replace("\n", "\r\n").encode())
    file.set("plain", "true")
    file.set("keymap.chat.models", "f6")
    raw = file.paths.config_file.read_bytes()
    assert raw.count(b"\n") == raw.count(b"\r\n") == len(LINES) + 2
    assert load_settings(file.paths, {}).keymap["chat.models"] == "f6"


CHANGES = st.sampled_from(
    [
        (("theme",), "dracula"), (("theme",), None), (("plain",), True), (("plain",), None),
        (("bell_after_s",), 2.5), (("model",), 'a:"b"\\\n'), (("model",), None), (("window",), None),
        (("keymap", "chat.compact"), "f5"), (("keymap", "chat.compact"), None),
        (("keymap", "chat.models"), "f6"), (("keymap",), None), (("keymap",), {"chat.help": "f7"}),
        (("endpoints", "harbour", "window"), 5), (("endpoints", "lab", "base_url"), "http://x"),
        (("endpoints", "harbour"), None), (("policies", "careful"), None),
        (("policies", "mine"), {"base": "off", "trim": True}), (("themes", "dusk"), {"base": "x"}),
    ]
)  # fmt: skip


@given(st.lists(CHANGES, max_size=8))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_changes_in_any_order_do_what_they_say_and_keep_what_was_said(
    changes: list[tuple[tuple[str, ...], object]],
) -> None:
    text, values = FILE, tomllib.loads(FILE)
    for path, value in changes:
        try:
            text = edited(text, path, value)
        except Unchangeable:
            continue
        expected = values
        for name in path[:-1]:
            expected = expected.setdefault(name, {})
        expected.pop(path[-1], None)
        if value is not None:
            expected[path[-1]] = value
    assert without_empty(tomllib.loads(text)) == without_empty(values)
    for said in (
        "# Ada's settings",
        "# at night",
        "# fingers",
        "# the server below the stairs",
        "# slow days",
    ):
        assert text.count(said) == 1


def without_empty(values: object) -> object:
    if not isinstance(values, dict):
        return values
    inside = {name: without_empty(value) for name, value in values.items()}
    return {name: value for name, value in inside.items() if value != {}}


def test_these_changes_are_all_possible() -> None:
    assert all(edited(FILE, path, value) for path, value in CHANGES.elements)  # type: ignore[attr-defined]
