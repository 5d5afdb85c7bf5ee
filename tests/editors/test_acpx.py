"""npm's ``acpx`` as the editor of ``plimsoll acp``, whose model is reached without a proxy.

``PLIMSOLL_NODE_MODULES`` and ``PLIMSOLL_MCP_PROGRAMS`` name what ``.ci/mcp.sh`` has installed.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.web.kit import free_port

pytestmark = pytest.mark.mcp_public

ACPX = Path(os.environ.get("PLIMSOLL_NODE_MODULES", "missing")) / ".bin/acpx"
PROXY = Path(os.environ.get("PLIMSOLL_MCP_PROGRAMS", "missing")) / "proxy"
LIMIT_S = 90


class Acpx:
    """A user of ``acpx`` in one folder."""

    def __init__(self, folder: Path) -> None:
        assert ACPX.exists(), "PLIMSOLL_NODE_MODULES has no acpx"
        self.cwd, self.home = folder / "work", folder / "home"
        self.cwd.mkdir()
        self.home.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PLIMSOLL_HOME": str(self.home),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def __call__(self, *args: str) -> str:
        agent = f"{sys.executable} -m tui_app acp"
        done = subprocess.run(
            ["node", str(ACPX), "--agent", agent, "--approve-reads", "--format", "quiet", *args],
            check=False,
            cwd=self.cwd,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout


@pytest.fixture
def acpx(tmp_path: Path) -> Acpx:
    return Acpx(tmp_path)


def test_a_prompt_is_answered_from_a_file(acpx: Acpx) -> None:
    (acpx.cwd / "tides.txt").write_text("Low water on Sunday is at 09:40.\n")
    assert "09:40" in acpx("exec", "when is low water on Sunday?")


def test_a_session_keeps_what_was_said(acpx: Acpx) -> None:
    (acpx.cwd / "tides.txt").write_text("Low water on Sunday is at 09:40.\n")
    acpx("sessions", "new")
    assert "09:40" in acpx("when is low water on Sunday?")
    assert "tides.txt" in acpx("which file tells of low water?")
    acpx("sessions", "close")
    agents = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"{sys.executable} -m tui_app acp" not in agents


@dataclass
class Proxy:
    """A proxy that appends each request to a file."""

    process: "subprocess.Popen[bytes]"
    address: str
    log: Path


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    port, log = free_port(), tmp_path / "proxy.log"
    assert PROXY.exists(), "PLIMSOLL_MCP_PROGRAMS has no proxy"
    running = subprocess.Popen(
        [
            str(PROXY),
            "--hostname",
            "127.0.0.1",
            "--port",
            str(port),
            "--num-workers",
            "1",
            "--log-file",
            str(log),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield Proxy(running, f"http://127.0.0.1:{port}", log)
    finally:
        running.terminate()
        running.wait(LIMIT_S)


def test_a_server_of_this_machine_is_asked_through_no_proxy(
    acpx: Acpx, proxy: Proxy, fake_openai: FakeOpenAI
) -> None:
    (acpx.home / "config").mkdir()
    (acpx.home / "config/config.toml").write_text(
        f'model = "own:scripted"\n[endpoints.own]\nbase_url = "{fake_openai.base_url}"\nwindow = 32000\n'
    )
    acpx.env |= dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"), proxy.address)
    fake_openai.add(Text("Low water is at 09:40."))
    assert "09:40" in acpx("exec", "when is low water?")
    # It does record what is sent through it.
    models = f"{fake_openai.base_url}/models"
    with httpx.Client(proxy=proxy.address) as client:
        client.get(models)
    proxy.process.terminate()
    proxy.process.wait(LIMIT_S)
    noted = [line for line in proxy.log.read_text().splitlines() if "access_log" in line]
    assert len(noted) == 1
    assert "/models" in noted[0]
