"""``plimsoll diff`` without a screen."""

import subprocess
from pathlib import Path

from tests.cli.conftest import Plimsoll
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI


def test_diff_and_a_commit_message(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path, project: Path
) -> None:
    config = plimsoll_home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f'model = "own:scripted"\n[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 100000\n'
    )
    subprocess.run(("git", "init", "-q", "-b", "main"), cwd=project, check=True)
    assert plimsoll("trust", ".").code == 0
    fake_openai.add(tool("write_file", path="ferry.py", content="TIDE = 7\n"), Text("Done."))
    assert plimsoll("run", "Add a tide.", "--yes").code == 0
    session = plimsoll("sessions", "--json").json["sessions"][0]["id"]
    shown = plimsoll("diff", session)
    assert shown.code == 0
    assert "+TIDE = 7" in shown.out
    files = {file["path"]: file for file in plimsoll("diff", session, "--json").json["files"]}
    ferry = files["ferry.py"]
    assert (ferry["by"], ferry["state"], ferry["added"], ferry["removed"]) == ("session", "new", 1, 0)
    assert files["tides.txt"]["by"] == "git"
    fake_openai.add(Text("Add a tide"))
    proposed = plimsoll("diff", session, "--message", "--json").json
    assert (proposed["message"], proposed["paths"]) == ("Add a tide", ["ferry.py"])
    assert proposed["performed_by"] == "model"
    log = subprocess.run(("git", "rev-parse", "-q", "--verify", "HEAD"), cwd=project, check=False)
    assert log.returncode, "nothing is committed"
    refused = plimsoll("diff", "zzzz")
    assert refused.code == 1
    assert refused.err
