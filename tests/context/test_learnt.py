"""What is learnt about models survives, is shared, and never breaks a turn."""

import json
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tui_app.context.windows import LearntModels

MODEL = "ollama:qwen3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "models.json"


def test_unknown_models_are_neutral() -> None:
    learnt = LearntModels(None)
    assert learnt.factor(MODEL) == 1.0
    assert learnt.limit(MODEL) is None


def test_factor_is_a_moving_average() -> None:
    learnt = LearntModels(None)
    assert learnt.observe(MODEL, 1_000, 1_200) == pytest.approx(1.2)
    assert learnt.observe(MODEL, 1_000, 1_400) == pytest.approx(1.26)
    assert learnt.factor("other:model") == 1.0
    for _ in range(60):
        learnt.observe(MODEL, 1_000, 900)
    assert learnt.factor(MODEL) == pytest.approx(0.9, abs=0.001)


@pytest.mark.parametrize(("counted", "reported"), [(49, 4_000), (0, 10), (-5, 10), (1_000, 0), (1_000, -1)])
def test_too_little_to_learn_from(counted, reported) -> None:
    learnt = LearntModels(None)
    assert learnt.observe(MODEL, counted, reported) == 1.0


def test_factor_is_clamped_and_absurdly_small_reports_teach_nothing() -> None:
    learnt = LearntModels(None)
    assert learnt.observe("a", 100, 100_000) == 8.0
    assert learnt.observe("b", 100_000, 1) == 1.0


def test_lessons_survive_and_are_private(path) -> None:
    first = LearntModels(path)
    first.observe(MODEL, 1_000, 1_500)
    first.learn_limit(MODEL, 8_192)
    first.learn_limit("other", -4)
    again = LearntModels(path)
    assert (again.factor(MODEL), again.limit(MODEL), again.limit("other")) == (1.5, 8_192, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_later_limit_replaces_the_earlier(path) -> None:
    learnt = LearntModels(path)
    learnt.learn_limit(MODEL, 8_192)
    learnt.learn_limit(MODEL, 32_768)
    assert LearntModels(path).limit(MODEL) == 32_768


def test_what_another_program_wrote_is_kept(path) -> None:
    mine, other = LearntModels(path), LearntModels(path)
    other.learn_limit("b", 200)
    other.observe(MODEL, 1_000, 3_000)
    mine.learn_limit("a", 100)
    assert mine.limit("b") == 200
    fresh = LearntModels(path)
    assert (fresh.limit("a"), fresh.limit("b"), fresh.factor(MODEL)) == (100, 200, 3.0)


def test_many_threads_lose_nothing(path) -> None:
    learnt = LearntModels(path)
    threads = [threading.Thread(target=learnt.learn_limit, args=(f"m{n}", 100 + n)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fresh = LearntModels(path)
    assert [fresh.limit(f"m{n}") for n in range(12)] == [100 + n for n in range(12)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"models": 3}',
        b'{"models": {"ollama:qwen3": 7}}',
        b'{"models": {"ollama:qwen3": {"factor": "big", "limit": "x"}}}',
        b'{"models": {"ollama:qwen3": {"factor": NaN, "limit": -1}}}',
        b'{"models": {"ollama:qwen3": {"factor": true, "limit": true}}}',
        b'{"models": {"ollama:qwen3": {"factor": false, "limit": 1000000000000}}}',
        b'{"models": {"ollama:qwen3": {"factor": -1e999, "limit": 4096.5}}}',
        b'{"models": {"ollama:qwen3": {"factor": ' + b"9" * 5_000 + b"}}}",
        b"[" * 100_000,
    ],
    ids=range(14),
)
def test_a_damaged_file_starts_empty_and_is_replaced(content, path) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    learnt = LearntModels(path)
    assert (learnt.factor(MODEL), learnt.limit(MODEL)) == (1.0, None)
    learnt.learn_limit(MODEL, 4_096)
    assert json.loads(path.read_text())["models"][MODEL]["limit"] == 4_096


@pytest.mark.parametrize("factor", ["1e9", "1e999", "9" * 400])
def test_a_wild_factor_in_the_file_is_clamped(factor, path) -> None:
    path.parent.mkdir()
    path.write_text(f'{{"models": {{"ollama:qwen3": {{"factor": {factor}}}}}}}')
    assert LearntModels(path).factor(MODEL) == 8.0


def test_a_damaged_lesson_costs_no_other(path) -> None:
    path.parent.mkdir()
    path.write_text('{"models": {"a": {"limit": "x"}, "b": 7, "c": {"factor": 1.5, "limit": 8192}}}')
    learnt = LearntModels(path)
    assert (learnt.limit("a"), learnt.limit("b")) == (None, None)
    assert (learnt.limit("c"), learnt.factor("c")) == (8_192, 1.5)
    learnt.learn_limit("d", 100)
    assert LearntModels(path).limit("c") == 8_192


def test_a_forgotten_limit_stays_forgotten_and_the_factor_is_kept(path) -> None:
    learnt = LearntModels(path)
    learnt.learn_limit(MODEL, 8_192)
    learnt.observe(MODEL, 1_000, 1_500)
    learnt.forget_limit(MODEL)
    assert learnt.limit(MODEL) is None
    again = LearntModels(path)
    assert (again.limit(MODEL), again.factor(MODEL)) == (None, 1.5)


LEARN = """
import sys
from pathlib import Path
from tui_app.context.windows import LearntModels

learnt = LearntModels(Path(sys.argv[1]))
print(learnt.limit("ollama:qwen3"), flush=True)
sys.stdin.readline()
learnt.learn_limit(sys.argv[2], int(sys.argv[3]))
"""


def test_programs_that_run_side_by_side_keep_what_each_has_learnt(path) -> None:
    LearntModels(path).learn_limit(MODEL, 8_192)

    def program(model: str, limit: int) -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-c", LEARN, str(path), model, str(limit)]
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    programs = [program("a", 1_000), program("b", 2_000)]
    for each in programs:
        assert each.stdout is not None
        assert each.stdout.readline() == "8192\n", "what another program has learnt"
    for each in programs:
        each.communicate("go\n")
        assert each.returncode == 0
    fresh = LearntModels(path)
    assert (fresh.limit("a"), fresh.limit("b"), fresh.limit(MODEL)) == (1_000, 2_000, 8_192)


def test_an_unwritable_place_costs_only_the_memory(tmp_path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    learnt = LearntModels(blocker / "models.json")
    learnt.learn_limit(MODEL, 4_096)
    assert learnt.limit(MODEL) == 4_096


def test_a_limit_that_all_servers_of_a_model_have_named_is_known_before_one_is_asked() -> None:
    learnt = LearntModels(None)
    assert learnt.limit_anywhere("qwen3") is None
    learnt.learn_limit("ollama:qwen3@http://a/v1#", 8_192)
    learnt.learn_limit("ollama:qwen3-large@http://a/v1#", 4_096)
    assert learnt.limit_anywhere("qwen3") == 8_192
    learnt.learn_limit("vllm:qwen3@http://b/v1#", 16_384)
    assert learnt.limit_anywhere("qwen3") is None
