"""A model file of the person's own, run in this process by llama.cpp (the extra ``local``)."""

import secrets
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.models import Model

from tui_app.extras import install_command

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider

_QUIET = -1
"""llama.cpp would print to the terminal that the screen is drawn on."""
_MAGIC = b"GGUF"


class UnusableFile(ValueError):
    """A path leads to no model file that can be run; the text is a sentence for a person."""


class NoLlama(ValueError):
    """llama.cpp is not installed."""


def gguf_model(path: Path) -> Model[Any]:
    """Load a model file and serve it on a loopback port that only this process has the key of.

    The window is as large as the file allows and the memory takes. Blocks while the file is read.

    Args:
        path: The file.

    Raises:
        NoLlama: if the package for it is not installed.
        UnusableFile: if there is no such file, or llama.cpp cannot run it.
    """
    if find_spec("xllamacpp") is None:
        raise NoLlama(f"Model files need llama.cpp. To install it: {install_command('local')}")
    _look_at(path)
    key = secrets.token_urlsafe(24)
    server = _start(path, key)
    return _model(path.stem, server, key)


def _look_at(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UnusableFile(f"The model file {path} cannot be read ({error.strerror}).") from error
    if magic != _MAGIC:
        raise UnusableFile(f"{path} is no GGUF model file.")


def _start(path: Path, key: str) -> Any:
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = [path.stem]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = 0
    params.n_parallel = 1
    params.fit_params = True
    params.use_jinja = True
    params.warmup = False
    params.verbosity = _QUIET
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise UnusableFile(f"llama.cpp cannot run {path}: it is damaged, or memory is short.") from error


def _model(name: str, server: Any, key: str) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel

    from tui_app.agent.providers import compatible_provider

    provider: Provider[Any] = compatible_provider("gguf", f"{server.listening_address}/v1", key)

    class LoadedFile(OpenAIChatModel):
        """Keeps the server for as long as the model is used; it stops with it."""

        loaded = server

    return LoadedFile(name, provider=provider)
