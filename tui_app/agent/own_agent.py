"""The user's own agent, named ``module:attribute``: its tools and instructions, our governor."""

import contextlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.models import Model

from tui_app.agent.error_sentences import plain
from tui_app.agent.models import keep_library_quiet
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.settings import SettingsError


class UnusableAgent(SettingsError):
    """A name leads to no agent; the text is a sentence for the user."""


@frozen
class OwnAgent:
    """The agent found under the name."""

    name: str
    agent: AbstractAgent[Any, Any]
    deps: Any = None
    """Dependencies passed to its tools."""

    @property
    def model(self) -> Model | None:
        """The model it was created with; None if it has none, or only a name."""
        model = self.agent.model
        return model if isinstance(model, Model) else None

    @property
    def model_name(self) -> str:
        """Name of its model as ``provider:name``; empty if it has none."""
        model = self.agent.model
        if isinstance(model, Model):
            return f"{model.system}:{model.model_name}"
        return model or ""

    async def system_prompt(self, ctx: RunContext[Any]) -> str:
        """Its static and dynamic system prompts. pydantic-ai would send them with a first prompt only."""
        model = ctx.model if isinstance(ctx.model, Model) else None
        parts = await self.agent.system_prompt_parts(deps=self.deps, model=model)
        return "\n\n".join(part.content for part in parts)


def load_agent(name: str, folder: Path) -> OwnAgent:
    """Import an agent.

    Args:
        name: ``module:attribute``, or ``path/to/file.py:attribute``. The attribute is an agent, a pair of an
            agent and its dependencies, or a function without arguments that returns either.
        folder: Searched first for modules; paths are relative to it.

    Raises:
        UnusableAgent: if there is no such module or attribute, importing it fails, or it is no agent.
    """
    keep_library_quiet()
    module_name, _, attribute = name.rpartition(":")
    if not module_name or not attribute:
        raise UnusableAgent(
            f"{plain(name)} does not name an agent. Write module:attribute, such as my_app.agents:helper."
        )
    found = _module(module_name, folder)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise UnusableAgent(f"There is no {plain(attribute)} in {plain(module_name)}.") from None
    if not isinstance(found, AbstractAgent | tuple) and callable(found):
        found = _called(found, name)
    agent, deps = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    if not isinstance(agent, AbstractAgent):
        raise UnusableAgent(
            f"{plain(name)} is not a pydantic-ai agent: its type is {type(found).__name__}. "
            "It must be an Agent, a pair (agent, deps), or a function that returns one."
        )
    return OwnAgent(name, agent, deps)


def _module(name: str, folder: Path) -> Any:
    try:
        if name.endswith(".py"):
            path = (folder / from_home(name)).resolve()
            if not path.is_file():
                raise UnusableAgent(f"There is no file {path}.")
            spec = importlib.util.spec_from_file_location(f"plimsoll_agent_{path.stem}", path)
            if spec is None or spec.loader is None:
                raise UnusableAgent(f"{path} is not a Python module.")
            module = importlib.util.module_from_spec(spec)
            # Before it runs: dataclasses and pydantic look up their own module.
            sys.modules[module.__name__] = module
            spec.loader.exec_module(module)
            return module
        if str(folder) not in sys.path:
            # As when Python itself runs a program in that folder.
            sys.path.insert(0, str(folder))
        return importlib.import_module(name)
    except UnusableAgent:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UnusableAgent(
                f"There is no module {plain(name)} in {folder} or among the installed packages."
            ) from error
        raise UnusableAgent(f"{plain(name)} cannot be imported: {plain(str(error))}.") from error
    except (Exception, SystemExit) as error:  # whatever the user's own code raises
        raise UnusableAgent(_failed(f"{plain(name)} cannot be imported", error)) from error


def _called(factory: Any, name: str) -> Any:
    """Call a factory.

    Raises:
        UnusableAgent: if it needs arguments, fails, or returns an awaitable. Opening a session awaits
            nothing, and what another event loop made cannot be used on the session's.
    """
    parameters: Iterable[inspect.Parameter] = ()
    with contextlib.suppress(TypeError, ValueError):  # some callables have no known signature
        parameters = inspect.signature(factory).parameters.values()
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = (each for each in parameters if each.default is each.empty and each.kind not in optional)
    if missing := ", ".join(each.name for each in required):
        raise UnusableAgent(f"{plain(name)} needs arguments ({missing}), and is called with none.")
    try:
        made = factory()
    except (Exception, SystemExit) as error:  # whatever the user's own code raises
        raise UnusableAgent(_failed(f"{plain(name)} was called and failed", error)) from error
    if not inspect.isawaitable(made):
        return made
    if inspect.iscoroutine(made):
        made.close()
    raise UnusableAgent(
        f"{plain(name)} is an async function, which cannot be awaited here. "
        "Make the agent in a plain function, or while its module is imported."
    )


def _failed(what: str, error: BaseException) -> str:
    return f"{what}: {type(error).__name__}, {plain(str(error)).rstrip('.') or 'without a reason'}."
