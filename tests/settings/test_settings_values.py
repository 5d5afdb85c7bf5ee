"""Settings: precedence, and how errors are reported."""

import dataclasses
import os
import shutil
import stat
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color
from textual.keys import KEY_NAME_REPLACEMENTS
from textual.theme import BUILTIN_THEMES

from tui_app.chat_keys import ACTION_KEYS, KEYS
from tui_app.context.policy import PLIMSOLL, PRESETS, MessageLimit, derive
from tui_app.conversation.requests.policies import choose_policy
from tui_app.paths import Paths
from tui_app.settings import (
    OFFLINE_MODEL,
    Endpoint,
    Settings,
    SettingsError,
    WrongFile,
    load_settings,
    resolve_model,
)
from tui_app.settings.edit import SettingsFile
from tui_app.settings.rules import read_text
from tui_app.settings.spec import SETTINGS
from tui_app.settings.tables import (
    COLOURS,
    POLICIES,
    POLICY_SHARES,
    THEMES,
    ApprovalRule,
    Ruling,
    misnamed,
    parse_rule,
    policy_keys,
)
from tui_app.tool_specs import TOOLS
from tui_app.ui.colours import themes


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    found = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "home")})
    found.ensure()
    return found


def refusal(paths: Paths, toml: str = "", env: Mapping[str, str] | None = None, **flags: object) -> str:
    paths.config_file.write_text(toml)
    with pytest.raises(SettingsError) as caught:
        load_settings(paths, env or {}, flags)
    return str(caught.value)


class TestPaths:
    def test_home_moves_all_four(self, tmp_path: Path) -> None:
        paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "one")})
        folders = (paths.config, paths.data, paths.state, paths.cache)
        assert all(folder.parent == tmp_path / "one" for folder in folders)
        assert len(set(folders)) == 4

    @pytest.mark.parametrize("env", [{}, {"PLIMSOLL_HOME": ""}, {"PLIMSOLL_HOME": "  "}])
    def test_without_it_the_usual_folders(self, env: dict[str, str]) -> None:
        assert "plimsoll" in Paths.from_env(env).data.parts

    def test_home_of_the_user_and_relative_paths_become_absolute(self) -> None:
        assert Paths.from_env({"PLIMSOLL_HOME": "~/x"}).config == Path.home() / "x" / "config"
        assert Paths.from_env({"PLIMSOLL_HOME": "x"}).config == Path.cwd() / "x" / "config"

    def test_folders_are_private_even_under_an_open_umask(self, tmp_path: Path) -> None:
        paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "a" / "b")})
        before = os.umask(0)
        try:
            paths.ensure()
            paths.ensure()
        finally:
            os.umask(before)
        made = [tmp_path / "a", tmp_path / "a" / "b", paths.config, paths.sessions_dir]
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in made} == {0o700}

    def test_a_folder_that_stands_open_is_closed(self, tmp_path: Path) -> None:
        paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})
        paths.data.mkdir(mode=0o755)
        paths.ensure()
        assert stat.S_IMODE(paths.data.stat().st_mode) == 0o700

    def test_what_cannot_be_kept_in_its_place_is_kept_elsewhere_and_said(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        wanted = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "file")})
        assert load_settings(wanted, {}, {}).model == "", "there are no settings to read"
        paths, said = wanted.writable()
        assert said == (
            f"{tmp_path / 'file'} cannot be written: this session is kept in {paths.data}"
            " and nothing is logged or learnt."
        )
        paths.ensure()
        assert paths.sessions_dir.is_dir()
        shutil.rmtree(paths.data)

    def test_folders_that_can_be_written_are_used_without_a_word(self, tmp_path: Path) -> None:
        paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "home")})
        assert paths.writable() == (paths, "")
        shutil.rmtree(paths.state)
        paths.state.write_text("in the way")
        assert paths.writable() == (paths, f"{paths.state} cannot be written: nothing is logged or learnt.")

    def test_fixed_places(self, paths: Paths) -> None:
        assert paths.database == paths.data / "sessions.db"
        assert paths.sessions_dir.parent == paths.data
        assert paths.learnt_file == paths.state / "models.json"
        assert paths.config_file.parent == paths.config
        assert paths.log_file.parent == paths.state


class TestPrecedence:
    def test_defaults_without_any_file(self, paths: Paths) -> None:
        assert load_settings(paths, {}) == Settings()

    def test_file_then_environment_then_flags(self, paths: Paths) -> None:
        paths.config_file.write_text('theme = "nord"\npolicy = "off"\nwindow = 1000\n')
        env = {"PLIMSOLL_THEME": "plimsoll-light", "PLIMSOLL_WINDOW": "2000"}
        settings = load_settings(paths, env, {"window": 3000, "model": None})
        assert (settings.policy, settings.theme, settings.window) == ("off", "plimsoll-light", 3000)
        assert settings.model == ""

    @pytest.mark.parametrize(
        ("text", "value"), [("1", True), ("TRUE", True), ("on", True), ("no", False), ("0", False)]
    )
    def test_flags_in_the_environment(self, paths: Paths, text: str, value: bool) -> None:
        assert load_settings(paths, {"PLIMSOLL_PLAIN": text}).plain is value

    def test_the_earlier_name_of_review_still_counts(self, paths: Paths) -> None:
        paths.config_file.write_text("review_compactions = true\n")
        assert load_settings(paths, {}).review == "manual"
        assert load_settings(paths, {"PLIMSOLL_REVIEW_COMPACTIONS": "false"}).review == "never"
        assert load_settings(paths, {"PLIMSOLL_REVIEW": "always"}).review == "always"
        both = {"PLIMSOLL_REVIEW": "always", "PLIMSOLL_REVIEW_COMPACTIONS": "true"}
        assert load_settings(paths, both).review == "always"
        paths.config_file.write_text('review = "always"\nreview_compactions = false\n')
        assert load_settings(paths, {}).review == "always", "today's name wins in one file"
        assert "review_compactions" in refusal(paths, 'review_compactions = "often"')
        assert "one of" in refusal(paths, 'review = "often"') or "always" in refusal(
            paths, 'review = "often"'
        )

    def test_shared_conventions_rank_below_our_own_variables(self, paths: Paths) -> None:
        paths.config_file.write_text("color = true\nanimations = true\n")
        assert load_settings(paths, {"NO_COLOR": ""}).color
        env = {"NO_COLOR": "1", "NO_ANIMATION": "1"}
        settings = load_settings(paths, env)
        assert (settings.color, settings.animations) == (False, False)
        assert load_settings(paths, {**env, "PLIMSOLL_COLOR": "yes"}).color
        assert load_settings(paths, env, {"animations": True}).animations

    def test_empty_variables_count_as_unset(self, paths: Paths) -> None:
        assert load_settings(paths, {"PLIMSOLL_WINDOW": "", "PLIMSOLL_WRONG": ""}) == Settings()

    def test_tables_are_merged_entry_by_entry(self, paths: Paths) -> None:
        paths.config_file.write_text(
            '[keymap]\n"chat.compact" = "ctrl+k"\n"chat.models" = "f10"\n'
            '[endpoints.lab]\nbase_url = "http://127.0.0.1:8080/v1/"\nwindow = 8192\n'
        )
        settings = load_settings(
            paths,
            {
                "PLIMSOLL_KEYMAP": '{"chat.compact" = "f11"}',
                "PLIMSOLL_ENDPOINTS": '{desk = {protocol = "anthropic", base_url = "http://localhost:1"}}',
            },
        )
        assert settings.keymap == {"chat.compact": "f11", "chat.models": "f10"}
        assert settings.endpoints == {
            "lab": Endpoint(name="lab", base_url="http://127.0.0.1:8080/v1", window=8192),
            "desk": Endpoint(name="desk", protocol="anthropic", base_url="http://localhost:1"),
        }

    def test_whole_numbers_become_seconds_and_shares(self, paths: Paths) -> None:
        paths.config_file.write_text("summary_timeout_s = 30\nblocking_threshold = 1\n")
        settings = load_settings(paths, {})
        assert (settings.summary_timeout_s, settings.blocking_threshold) == (30.0, 1.0)

    def test_every_setting_has_a_rule_that_accepts_its_default(self) -> None:
        assert set(SETTINGS) == {field.name for field in dataclasses.fields(Settings)}
        for name, value in dataclasses.asdict(Settings()).items():
            if value is not None:
                assert SETTINGS[name].rule.check(value) == value

    def test_policies_are_those_of_the_governor(self) -> None:
        assert list(POLICIES) == list(PRESETS)
        shares = {
            name: (policy.background_threshold, policy.blocking_threshold) for name, policy in PRESETS.items()
        }
        assert shares == POLICY_SHARES

    def test_actions_are_those_of_the_screen(self) -> None:
        assert {key.id: key.key for key in KEYS} == ACTION_KEYS

    def test_themes_are_those_of_the_screen_and_of_textual(self) -> None:
        own = [theme.name for theme in themes.THEMES]
        assert list(THEMES) == [*own, *BUILTIN_THEMES]


class TestRefusals:
    @pytest.mark.parametrize(
        ("toml", "parts"),
        [
            ('modle = "x:y"', ["'modle'", "Did you mean model?"]),
            ('model = "gpt"', ["model", "'gpt'", "provider:name"]),
            ("window = 12", ["window", "12", "at least 256"]),
            ("window = 1000000000", ["window", "1000000000", "at most 100,000,000"]),
            ("window = 4096.5", ["window", "4096.5", "whole number"]),
            ("window = true", ["window", "True", "whole number"]),
            ("background_threshold = 80", ["background_threshold", "80", "0.01 to 1.0"]),
            ("background_threshold = nan", ["background_threshold", "nan"]),
            ("background_threshold = 0.99", ["background_threshold", "0.99", "blocking_threshold", "0.95"]),
            ('plain = "yes"', ["plain", "'yes'", "true or false"]),
            ('policy = "plimsol"', ["policy", "'plimsol'", "plimsoll, sliding-window"]),
            ("policy = 3", ["policy", "3", "the name of a policy"]),
            ("[telemetry]\notlp_endpoint = 1", ["telemetry.otlp_endpoint", "1", "off, on or an address"]),
            ('[telemetry]\nendpoint = "on"', ["telemetry.endpoint", "did you mean otlp_endpoint?"]),
            ("policies = 3", ["policies", "3", "a table"]),
            ("[policies]\nmine = 1", ["policies.mine", "1", "base"]),
            ("[policies.mine]\nmax_messages = 3", ["policies.mine.base", "missing"]),
            ('[policies.mine]\nbase = "own"', ["policies.mine.base", "'own'", "plimsoll, sliding-window"]),
            ('[policies.off]\nbase = "plimsoll"', ["policies.off", "none of plimsoll"]),
            ('[policies."my own"]\nbase = "off"', ["policies.my own", "no good name", "a letter, then"]),
            (
                '[policies.mine]\nbase = "off"\nmax_mesages = 3',
                ["policies.mine.max_mesages", "did you mean max_messages?", "reserve_tokens"],
            ),
            (
                '[policies.mine]\nbase = "off"\nmax_messages = -1',
                ["policies.mine.max_messages", "-1", "a whole number from 0"],
            ),
            (
                '[policies.mine]\nbase = "off"\nfallback = "hope"',
                ["policies.mine.fallback", "'hope'", "heuristic, marker, none"],
            ),
            (
                '[policies.mine]\nbase = "off"\ntool_output_max_lines = 3',
                ["policies.mine.tool_output_max_lines", "3", "from 4"],
            ),
            (
                '[policies.mine]\nbase = "plimsoll"\nbackground_threshold = 0.96',
                ["policies.mine.background_threshold", "0.96", "at most blocking_threshold 0.95"],
            ),
            (
                '[policies.mine]\nbase = "progressive"\nblocking_threshold = 0.9',
                ["policies.mine.blocking_threshold", "0.9", "at least background_threshold 0.95"],
            ),
            (
                'policy = "progressive"\nblocking_threshold = 0.9',
                ["background_threshold is 0.95", "blocking_threshold 0.9"],
            ),
            (
                'policy = "other"\n[policies.mine]\nbase = "off"',
                ["policy is 'other'", "progressive, off, mine"],
            ),
            ("keymap = 3", ["keymap", "3", "a table"]),
            ('[keymap]\n"chat.compact" = ""', ["keymap.chat.compact", "''", "ctrl+k"]),
            ('[keymap]\n"chat.compact" = "nonsense_key"', ["keymap.chat.compact", "nonsense_key", "ctrl+k"]),
            ('[keymap]\n"chat.compact" = "f10,cmd+k"', ["keymap.chat.compact", "cmd+k", "ctrl+k"]),
            (
                '[keymap]\n"chat.compct" = "f10"',
                ["keymap.chat.compct", "unknown action", "did you mean chat.compact?", "prompt.send"],
            ),
            ('[keymap]\nchat.compact = "f10"', ["keymap.chat ", "written in quotes", "chat.compact"]),
            (
                'theme = "plimsol-dark"',
                ["theme", "'plimsol-dark'", "plimsoll-dark, plimsoll-light"],
            ),
            ("endpoints = []", ["endpoints", "[]", "a table"]),
            ("[endpoints]\nlab = 1", ["endpoints.lab", "1", "base_url"]),
            ("[endpoints.lab]\nwindow = 4096", ["endpoints.lab.base_url", "missing"]),
            ('[endpoints.lab]\nbase_ulr = "x"', ["endpoints.lab.base_ulr", "did you mean base_url?"]),
            ('[endpoints.lab]\nbase_url = "localhost:80"', ["endpoints.lab.base_url", "http://"]),
            ('[endpoints.lab]\nbase_url = "http://h:99999"', ["endpoints.lab.base_url", "99999"]),
            (
                '[endpoints.lab]\nbase_url = "http://h"\nprotocol = "grpc"',
                ["endpoints.lab.protocol", "'grpc'", "openai-chat", "anthropic"],
            ),
            ('[endpoints.openai]\nbase_url = "http://h"', ["endpoints.openai", "none of offline"]),
            ("model = !", ["not valid TOML", "line 1"]),
        ],
    )
    def test_file_key_value_and_what_is_allowed(self, paths: Paths, toml: str, parts: list[str]) -> None:
        message = refusal(paths, toml)
        assert message.startswith(str(paths.config_file))
        assert [part for part in parts if part not in message] == []
        assert "\n" not in message

    @pytest.mark.parametrize(
        ("keymap", "action", "key", "owner"),
        [
            ({"chat.compact": "f10", "chat.models": "ctrl+k,f10"}, "chat.models", "f10", "chat.compact"),
            ({"chat.compact": "ctrl+t"}, "chat.compact", "ctrl+t", "chat.timeline"),
            ({"chat.context": "?"}, "chat.context", "question_mark", "prompt.help"),
            ({"chat.top": "shift+enter"}, "chat.top", "shift+enter", "prompt.newline"),
        ],
    )
    def test_two_actions_under_one_key(
        self, paths: Paths, keymap: dict[str, str], action: str, key: str, owner: str
    ) -> None:
        table = "\n".join(f'"{name}" = "{keys}"' for name, keys in keymap.items())
        message = refusal(paths, f"[keymap]\n{table}\n")
        assert message.startswith(str(paths.config_file))
        assert f"keymap.{action} is {keymap[action]!r}" in message
        assert f"{key} is a key of {owner}" in message
        assert f"Choose another, or give {owner} another key first." in message

    def test_two_actions_under_one_key_from_two_places(self, paths: Paths) -> None:
        env = {"PLIMSOLL_KEYMAP": '{"chat.models" = "f10"}'}
        assert "f10 is a key of chat.compact" in refusal(paths, '[keymap]\n"chat.compact" = "f10"\n', env)

    @pytest.mark.parametrize(
        "keymap",
        [
            {"chat.compact": "ctrl+l", "chat.models": "ctrl+g"},
            {"chat.cancel": "f10,escape"},
            {"chat.cancel": "f10", "prompt.close_list": "f10"},
            {"chat.compact": "ctrl+g,ctrl+g"},
        ],
        ids=["swapped", "shared by default", "shared as by default", "said twice"],
    )
    def test_keys_that_may_be_shared_or_change_hands(self, paths: Paths, keymap: dict[str, str]) -> None:
        assert load_settings(paths, {}, {"keymap": keymap}).keymap == keymap

    @pytest.mark.parametrize(
        ("action", "keys", "key"),
        [
            ("chat.compact", "p", "p"), ("chat.compact", "f10,P", "P"),
            ("chat.compact", "shift+p", "shift+p"),
            ("chat.top", "slash", "slash"), ("chat.top", "~", "~"), ("chat.top", "space", "space"),
            ("chat.compact", "backspace", "backspace"), ("chat.page_up", "left", "left"),
            ("prompt.send", "p", "p"), ("prompt.newline", "space", "space"), ("app.palette", "3", "3"),
        ],
    )  # fmt: skip
    def test_keys_that_are_needed_to_write_are_refused(
        self, paths: Paths, action: str, keys: str, key: str
    ) -> None:
        message = refusal(paths, f'[keymap]\n"{action}" = "{keys}"\n')
        assert f"keymap.{action} is {keys!r}, but {key} is needed to write in the prompt; allowed:" in message

    @pytest.mark.parametrize(
        "keymap",
        [
            {"prompt.send": "ctrl+j", "prompt.newline": "enter"},
            {"prompt.help": "exclamation_mark"},
            {"chat.top": "home", "chat.bottom": "ctrl+e"},
            {"prompt.history_back": "ctrl+up,up"},
        ],
    )
    def test_keys_that_write_nothing_or_have_their_meaning_in_the_prompt(
        self, paths: Paths, keymap: dict[str, str]
    ) -> None:
        assert load_settings(paths, {}, {"keymap": keymap}).keymap == keymap

    @pytest.mark.parametrize(
        ("sign", "name"),
        [("/", "slash"), ("\\", "backslash"), ("@", "at"), ("-", "minus"), ("+", "plus"), ("_", "underscore"),
         (";", "semicolon"), (".", "full_stop"), ("~", "tilde")],
    )  # fmt: skip
    def test_a_sign_and_its_name_are_one_key(self, paths: Paths, sign: str, name: str) -> None:
        unicode_name = unicodedata.name(sign).lower().replace(" ", "_").replace("-", "_")
        assert KEY_NAME_REPLACEMENTS.get(unicode_name, unicode_name) == name
        assert load_settings(paths, {}, {"keymap": {"prompt.help": name}}).keymap == {"prompt.help": name}
        both = {"chat.top": name, "chat.bottom": sign}
        with pytest.raises(SettingsError, match="is a key of"):
            load_settings(paths, {}, {"keymap": both})

    def test_environment(self, paths: Paths) -> None:
        assert "PLIMSOLL_MOUSE is 'maybe'" in refusal(paths, env={"PLIMSOLL_MOUSE": "maybe"})
        assert "Did you mean PLIMSOLL_MODEL?" in refusal(paths, env={"PLIMSOLL_MODLE": "x:y"})
        assert "PLIMSOLL_WINDOW is 'big'" in refusal(paths, env={"PLIMSOLL_WINDOW": "big"})
        assert "inline table" in refusal(paths, env={"PLIMSOLL_KEYMAP": "chat.compact=ctrl+k"})
        assert "inline table" in refusal(paths, env={"PLIMSOLL_KEYMAP": "{}\nmodel = 1"})

    def test_flags(self, paths: Paths) -> None:
        assert "command line: --window is 1;" in refusal(paths, window=1)
        assert "Did you mean --theme?" in refusal(paths, them="x")

    @pytest.mark.parametrize(
        "toml", ['key_env = "sk-live-123"', 'base_url = "https://me:sk-live-123@example.test/v1"']
    )
    def test_a_key_in_the_wrong_place_is_not_repeated(self, paths: Paths, toml: str) -> None:
        good = "" if "base_url" in toml else 'base_url = "http://h"\n'
        assert "sk-live-123" not in refusal(paths, f"[endpoints.lab]\n{good}{toml}\n")

    def test_control_characters_are_spelled_out(self, paths: Paths) -> None:
        message = refusal(paths, 'theme = "\\u001b[31mred"')
        assert "\x1b" not in message
        assert "\\x1b" in message

    def test_unreadable_files(self, paths: Paths) -> None:
        paths.config_file.write_bytes(b"\xff\xfe")
        with pytest.raises(SettingsError, match="not UTF-8"):
            load_settings(paths, {})
        paths.config_file.unlink()
        paths.config_file.mkdir()
        with pytest.raises(SettingsError, match="cannot be read"):
            load_settings(paths, {})

    @given(
        st.dictionaries(
            st.sampled_from(sorted(SETTINGS)), st.text() | st.integers() | st.booleans() | st.none()
        )
    )
    def test_whatever_flags_say_the_result_is_settings_or_a_sentence(self, flags: dict[str, object]) -> None:
        nowhere = Paths.from_env({"PLIMSOLL_HOME": "/nonexistent"})
        try:
            settings = load_settings(nowhere, {}, flags)
        except SettingsError as error:
            assert str(error).endswith((".", "?"))  # noqa: PT017 - both outcomes are right, of a fixed shape
        else:
            assert (settings.background_threshold or 0.8) <= (settings.blocking_threshold or 0.95)


class TestPolicies:
    MINE = '[policies.mine]\nbase = "plimsoll"\nmax_messages = 60\n'

    def test_one_of_their_own_is_named_like_a_built_in_one(self, paths: Paths) -> None:
        paths.config_file.write_text(f'policy = "mine"\n{self.MINE}')
        settings = load_settings(paths, {})
        assert settings.policy == "mine"
        assert settings.policies == {"mine": {"base": "plimsoll", "max_messages": 60}}
        assert choose_policy(settings).limit == MessageLimit(messages=60)

    def test_environment_and_flags_may_name_it_as_well(self, paths: Paths) -> None:
        paths.config_file.write_text(self.MINE)
        assert load_settings(paths, {"PLIMSOLL_POLICY": "mine"}).policy == "mine"
        assert load_settings(paths, {}, {"policy": "mine"}).policy == "mine"
        env = {"PLIMSOLL_POLICIES": '{yours = {base = "off"}}', "PLIMSOLL_POLICY": "yours"}
        assert set(load_settings(paths, env).policies) == {"mine", "yours"}

    def test_a_name_nobody_knows_is_refused_where_it_stands(self, paths: Paths) -> None:
        allowed = "allowed: one of plimsoll, sliding-window, reserve, background, progressive, off, mine."
        message = refusal(paths, self.MINE, {"PLIMSOLL_POLICY": "none"})
        assert message == f"environment: PLIMSOLL_POLICY is 'none'; {allowed}"
        message = refusal(paths, self.MINE, {"PLIMSOLL_POLICY": "off"}, policy="none")
        assert message == f"command line: --policy is 'none'; {allowed}"

    def test_every_key_changes_the_policy(self) -> None:
        """A key that is accepted without effect would be worse than one that is refused."""
        other = {
            "automatic": False, "at_turn_end": True, "keep_first_run": True, "summary_by": "heuristic",
            "fallback": "marker", "tool_summary_strategy": "llm", "tool_output_mode": "head",
            "model_compacts": "ask", "verify": "model", "summary_instructions": "Name the tickets.",
            "least_answered": 0.4,
        }  # fmt: skip
        stages = {"normalise", "offload", "superseded", "archive", "trim", "pointers"}
        keys = policy_keys().keys
        for key in set(keys) - {"base"}:
            value = False if key in stages else other.get(key, 0.4 if "share" in key or "thres" in key else 7)
            changes = {"base": "plimsoll", key: keys[key].check(value)}
            changed = derive("plimsoll", changes)
            assert dataclasses.replace(changed, about=PLIMSOLL.about) != PLIMSOLL, key

    @pytest.mark.parametrize(
        ("settings", "name", "shares"),
        [
            (Settings(), "plimsoll", (0.8, 0.95)),
            (Settings(), "progressive", (0.95, 0.95)),
            (Settings(background_threshold=0.5), "progressive", (0.5, 0.95)),
            (Settings(background_threshold=0.5, blocking_threshold=0.6), "plimsoll", (0.5, 0.6)),
            (
                Settings(
                    background_threshold=0.5,
                    policies={"mine": {"base": "plimsoll", "background_threshold": 0.7}},
                ),
                "mine",
                (0.7, 0.95),
            ),
        ],
    )
    def test_general_thresholds_are_for_policies_that_name_none(
        self, settings: Settings, name: str, shares: tuple[float, float]
    ) -> None:
        policy = choose_policy(settings, name)
        assert (policy.background_threshold, policy.blocking_threshold) == shares


class TestModelChoice:
    @pytest.mark.parametrize(
        ("env", "model"),
        [
            ({}, OFFLINE_MODEL),
            ({"OPENAI_API_KEY": " "}, OFFLINE_MODEL),
            ({"ANTHROPIC_API_KEY": "a"}, "anthropic:claude-sonnet-4-5"),
            ({"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, "openai:gpt-5-mini"),
        ],
    )
    def test_by_the_keys_at_hand(self, env: dict[str, str], model: str) -> None:
        assert resolve_model(Settings(), env) == model

    def test_a_set_model_needs_no_key(self) -> None:
        assert resolve_model(Settings(model="lab:tiny"), {"OPENAI_API_KEY": "b"}) == "lab:tiny"


def test_reading_settings_loads_next_to_nothing() -> None:
    heavy = "{'pydantic', 'pydantic_ai', 'textual', 'rich', 'asyncio', 'httpx', 'tiktoken'}"
    code = f"import sys, tui_app.settings; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestOwnThemes:
    def test_a_theme_of_ones_own_is_one_of_ours_with_other_colours(self, paths: Paths) -> None:
        paths.config_file.write_text(
            'theme = "dusk"\n[themes.dusk]\nbase = "plimsoll-light"\naccent = "#fb0"\nmuted = "#445566"\n'
        )
        settings = load_settings(paths, {})
        (theme,) = themes.own_themes(settings.themes)
        colours = {**theme.to_color_system().generate(), **theme.variables}
        base = themes.LIGHT.to_color_system().generate()
        assert (theme.name, theme.dark) == ("dusk", False)
        amber = Color.parse("#fb0")
        assert Color.parse(colours["text-accent"]) == Color.parse(colours["rail-seen"]) == amber
        assert colours["text-muted"] == "#445566"
        assert colours["background"] == base["background"]
        assert Color.parse(themes.LIGHT.variables["text-accent"]) != amber

    @pytest.mark.parametrize(
        ("toml", "words"),
        [
            ('[themes.dusk]\naccent = "#fb0"', ["themes.dusk.base is missing"]),
            ('[themes.dusk]\nbase = "nord"', ["themes.dusk.base is 'nord'", "plimsoll-dark, plimsoll-light"]),
            (
                '[themes.dusk]\nbase = "plimsoll-dark"\naccent = "amber"',
                ["themes.dusk.accent is 'amber'", "a colour such as #4fb3d9"],
            ),
            (
                '[themes.dusk]\nbase = "plimsoll-dark"\nacent = "#fb0"',
                ["themes.dusk.acent", "unknown colour", "did you mean accent?"],
            ),
            ('[themes.nord]\nbase = "plimsoll-dark"', ["themes.nord", "not the name of a built-in theme"]),
            ('theme = "dusk"', ["theme is 'dusk'", "plimsoll-dark"]),
        ],
    )
    def test_wrong_ones_are_refused(self, paths: Paths, toml: str, words: list[str]) -> None:
        message = refusal(paths, toml)
        assert [word for word in words if word not in message] == []

    def test_every_colour_of_the_table_changes_the_theme(self) -> None:
        for colour in COLOURS:
            own = themes.own_theme("own", {"base": "plimsoll-dark", colour: "#123456"})
            assert "#123456" in {value.lower() for value in own.to_color_system().generate().values()}, colour


def test_every_setting_is_explained() -> None:
    assert [name for name, each in SETTINGS.items() if not each.help] == []


# Invalid settings files: every mistake is reported, and the advice works.


@pytest.fixture
def wrong_settings_paths(tmp_path: Path) -> Paths:
    return Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})


def wrong(paths: Paths, text: str) -> WrongFile:
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(text, encoding="utf-8")
    with pytest.raises(WrongFile) as caught:
        load_settings(paths, {})
    return caught.value


def test_a_policy_without_a_base_says_what_that_may_be_and_how_to_take_it_out(
    wrong_settings_paths: Paths,
) -> None:
    error = wrong(wrong_settings_paths, "[policies.mine]\nbackground_threshold = 0.5\n")
    assert "policies.mine.base is missing; allowed: one of plimsoll, " in str(error)
    assert error.next_step == "Add it there, or remove the whole: plimsoll config unset policies.mine"
    SettingsFile(wrong_settings_paths, {}).unset("policies.mine")
    assert load_settings(wrong_settings_paths, {}) == Settings()


def test_all_that_is_wrong_is_known(wrong_settings_paths: Paths) -> None:
    error = wrong(wrong_settings_paths, 'window = "x"\nthem = "y"\nretries = -1\ntimeline = true\n')
    told = [str(each) for each in (error, *error.others)]
    assert [key in one for key, one in zip(("window", "them", "retries"), told, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("text", "tokens"), [("24k", 24_000), ("1.5M", 1_500_000), ("32_000", 32_000), ("128 K", 128_000)]
)
def test_tokens_may_be_written_as_people_say_them(
    wrong_settings_paths: Paths, text: str, tokens: int
) -> None:
    assert read_text(SETTINGS["window"].rule, text) == tokens
    assert SettingsFile(wrong_settings_paths, {}).set("window", text).window == tokens


@pytest.mark.parametrize("text", ["24q", "k", "1.5", "-2k", "0.0001k", "1e3"])
def test_what_is_no_number_of_tokens_is_refused(text: str, wrong_settings_paths: Paths) -> None:
    with pytest.raises(SettingsError):
        SettingsFile(wrong_settings_paths, {}).set("window", text)


# Rules for tools that cannot exist are reported; rules for tools of servers and agents are accepted.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run_comand git push", "No tool is called run_comand: is run_command meant?"),
        ("Run_Command git push", "No tool is called Run_Command: is run_command meant?"),
        ("read_files .env", "No tool is called read_files: is read_file meant?"),
        ("mail__send", "No tool is called mail__send."),
        ("reed_*", "No tool is called reed_*."),
        ("ferries", "No tool is called ferries."),
        ("ferriesx_book", "No tool is called ferriesx_book."),
    ],
)
def test_a_name_that_is_no_tools(text: str, said: str) -> None:
    assert misnamed(parse_rule("deny", text), ("ferries",)) == said


@pytest.mark.parametrize(
    "text",
    [*sorted(TOOLS), "*", "read_*", "*_file x", "ferries_book", "ferries_*", "fer*", "run_comman?"],
)
def test_a_name_that_may_be_one(text: str) -> None:
    assert misnamed(parse_rule("deny", text), ("ferries",)) == ""


@pytest.mark.parametrize("ruling", ["allow", "ask", "deny", "looks"])
def test_what_only_looks_is_never_ours(ruling: Ruling) -> None:
    said = misnamed(ApprovalRule(ruling, "tracker_search"), ())
    assert (said == "") is (ruling == "looks")
