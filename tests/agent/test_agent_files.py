"""Agents defined in Markdown files: which exist, what they may use, and what is refused."""

from pathlib import Path

import pytest

from tui_app.agent.instructions.agent_files import LOOKS, MOST, find_agents, listed_text
from tui_app.system.project_files import Refused


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "ship"
    (root / ".git").mkdir(parents=True)
    (root / "deck").mkdir()
    return root


def agent(folder: Path, file: str, body: str = "Look hard.", **values: str) -> None:
    values = {"description": f"It is {file}.", **values}
    front = "\n".join(f"{key}: {value}" for key, value in values.items() if value)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{file}.md").write_text(f"---\n{front}\n---\n{body}\n")


def test_the_nearest_wins_a_name_and_the_users_own_come_last(repository: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    agent(repository / ".claude/agents", "reviewer", description="root")
    agent(repository / "deck/.plimsoll/agents", "reviewer", description="deck")
    agent(config / "agents", "reviewer", description="mine")
    agent(config / "agents", "tester")
    found = find_agents(repository / "deck", config).found
    assert [(each.name, each.description, each.place) for each in found] == [
        ("reviewer", "deck", "project"),
        ("tester", "It is tester.", "user"),
    ]
    assert [each.name for each in find_agents(None, config).found] == ["reviewer", "tester"]
    assert "- tester: It is tester." in listed_text("agents", found)
    assert listed_text("agents", ()) == ""


def test_tools_and_models_go_by_the_names_of_other_programs_too(repository: Path, tmp_path: Path) -> None:
    folder = repository / ".claude/agents"
    agent(folder, "a")
    agent(folder, "b", tools="Read, Grep, Bash, mcp__x__y", model="sonnet")
    agent(folder, "c", tools="\n  - edit_file\n  - write_file", model="openai:gpt-5-mini")
    agent(folder, "d", tools="*", model="inherit")
    a, b, c, d = find_agents(repository, tmp_path).found
    assert (a.tools, a.model, a.note) == (LOOKS, "", "")
    assert (b.tools, b.model) == ((*LOOKS, "run_command"), "")
    assert b.note == "no tool here is called mcp__x__y; model sonnet is not in the form provider:name"
    assert (set(c.tools) - set(LOOKS), c.model) == ({"write_file", "edit_file"}, "openai:gpt-5-mini")
    assert len(d.tools) == len(LOOKS) + 4
    assert d.note == ""


def test_a_project_has_no_file_of_its_own_loaded_as_a_model(repository: Path, tmp_path: Path) -> None:
    config = tmp_path / "config"
    agent(repository / ".plimsoll/agents", "theirs", model="gguf:docs/model.gguf")
    agent(config / "agents", "mine", model="gguf:~/model.gguf")
    theirs, mine = find_agents(repository, config).found
    assert (theirs.model, theirs.note) == ("", "a project names no file as a model")
    assert (mine.model, mine.note) == ("gguf:~/model.gguf", "")


def test_what_is_no_agent_is_told(repository: Path, tmp_path: Path) -> None:
    folder = repository / ".plimsoll/agents"
    agent(folder, "one", description="")
    agent(folder, "two", body="")
    agent(folder, "three", name="../three")
    agent(tmp_path / "outside", "four")
    (folder / "four.md").symlink_to(tmp_path / "outside/four.md")
    (folder / "notes.txt").write_text("nothing")
    agents = find_agents(repository, tmp_path / "config")
    assert not agents.found
    for why in ("no description", "no instructions", "its name may only have", "leads out of the repository"):
        assert any(why in sentence for sentence in agents.refused), why
    for number in range(MOST + 5):
        agent(folder, f"many{number:02}")
    assert len(find_agents(repository, tmp_path / "config").found) == MOST


def test_its_text_is_read_when_it_is_sent(repository: Path, tmp_path: Path) -> None:
    agent(repository / ".plimsoll/agents", "one", body="Use {braces} and look.")
    (one,) = find_agents(repository, tmp_path).found
    text = one.instructions("/ship")
    assert text.startswith("Use {braces} and look.")
    assert "The folder is /ship" in text
    one.file.unlink()
    with pytest.raises(Refused, match="gone"):
        one.instructions("/ship")
