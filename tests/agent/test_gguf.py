"""A model file in this process: it answers, says how large its window is, and leaves nothing behind."""

import gc
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

from tests.servers.scripted_gguf import cached_gguf
from tui_app.agent import models as gguf
from tui_app.agent.models import ModelNotReady, UnknownModel, ask_window, build_model
from tui_app.extras import install_command


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cached_gguf({"tide": ["Low tide is at four."]}, tmp_path_factory.mktemp("gguf"))


async def test_it_answers_and_says_how_large_its_window_is(file: Path) -> None:
    model = build_model(f"gguf:{file}", env={})
    result = await Agent(model).run("tide")
    assert result.output.strip() == "Low tide is at four."
    assert (await ask_window(model) or 0) > 1_000
    assert isinstance(model, OpenAIChatModel)
    await model.client.close()


async def test_the_port_is_closed_to_others_and_gone_with_the_model(file: Path) -> None:
    model = build_model(f"gguf:{file}", env={})
    address = urlsplit(str(model.base_url))
    assert address.hostname == "127.0.0.1"
    with socket.create_connection((address.hostname, address.port or 0), timeout=5) as stranger:
        stranger.sendall(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        assert b" 401 " in stranger.recv(100)
    del model
    gc.collect()
    with (
        pytest.raises(ConnectionRefusedError),
        socket.create_connection((address.hostname, address.port or 0), timeout=5),
    ):
        pass


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), (b"hello", "is no GGUF model file")])
def test_why_a_file_cannot_be_used(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnknownModel, match=said):
        build_model(f"gguf:{path}", env={})


def test_a_damaged_file_is_told_as_one(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(file.read_bytes()[:5_000])
    with pytest.raises(UnknownModel, match="damaged"):
        build_model(f"gguf:{path}", env={})


def test_without_the_package_it_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "find_spec", lambda _name: None)
    with pytest.raises(ModelNotReady, match=re.escape(install_command("local"))):
        build_model(f"gguf:{file}", env={})
