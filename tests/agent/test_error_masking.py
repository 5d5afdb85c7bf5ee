"""Keys and errors: a missing key is named, its value never shown; nor what upsets a terminal."""

import pytest
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError, UserError
from pydantic_ai.models import infer_model

from tui_app.agent.errors import describe_error
from tui_app.context.secrets import MASK
from tui_app.providers import key_variable

MODEL = "openai:gpt-5"
SECRET = "sk-proj-" + "abCD1234" * 6


class Request:
    url = "http://user:hunter2secret@127.0.0.1:11434/v1/chat/completions"


class AddressedError(Exception):
    request = Request()


def rejected(status: int, body: object) -> ModelHTTPError:
    return ModelHTTPError(status, "gpt-5", body)


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {SECRET}. You can find your key",
        "Incorrect API key provided: sk-abcde***************************wxyz.",
        f"headers: Authorization: Bearer {SECRET}",
        "Authorization: Bearer abcdef.ghijkl",
        "x-api-key: gsk_abcdefghijklmnopqrstuvwxyz012345",
        "https://example.com/v1?key=AIzaSyA1234567890abcdefghijklmnopqrstuvw",
    ],
)
@pytest.mark.parametrize("status", [400, 401, 500])
def test_keys_are_masked_everywhere(text, status) -> None:
    said = describe_error(rejected(status, {"message": text}), model=MODEL)
    everything = " ".join((said.message, said.hint, said.detail))
    for secret in (SECRET, SECRET[8:], "abcde***", "abcdef.ghijkl", "gsk_abc", "AIzaSy"):
        assert secret not in everything
    assert MASK in said.detail


def test_passwords_in_addresses_are_not_shown() -> None:
    error = ModelConnectionError("m", "Connection error.")
    error.__cause__ = AddressedError("Connection refused")
    said = describe_error(error, model=MODEL)
    assert "127.0.0.1:11434" in said.message
    assert "hunter2" not in said.message + said.hint + said.detail


def test_foreign_text_is_tamed() -> None:
    hostile = "bad \x1b[31mred\x1b[0m \u202eevil\nsecond [bold]line[/]\x00 " + "long " * 500
    said = describe_error(rejected(400, {"message": hostile}), model="openai:\x1b[2Jgpt")
    assert not any(char in said.message + said.detail for char in "\x1b\x00\u202e")
    assert "\n" not in said.message
    assert len(said.message) < 320
    assert len(describe_error(ValueError("x" * 50_000), model=MODEL).detail) < 4_100


@pytest.mark.parametrize(
    "model", ["openai:gpt-5", "anthropic:claude-sonnet-4-5", "google:gemini-3-pro", "openrouter:x/y"]
)
def test_real_missing_keys(model, monkeypatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError) as caught:
        infer_model(model)
    said = describe_error(caught.value, model=model)
    assert said.kind == "auth"
    assert key_variable(model) in said.message


def test_endpoints_without_a_known_key() -> None:
    assert key_variable("mybox:llama") is None
    said = describe_error(rejected(401, None), model="mybox:llama")
    assert "the key that endpoints.mybox.key_env names (or name one there)" in said.hint
