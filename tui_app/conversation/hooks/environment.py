"""What a hook's process may see of ours: everything but keys."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tui_app.agent.key_names import key_variables
from tui_app.api_keys import ApiKeys
from tui_app.context.secrets import MASK, mask_secrets
from tui_app.settings.store import STORE_VARIABLE, store_secrets

_SECRET_NAME = re.compile(
    r"(?i)(?:^|_)(?:api_?key|key(?:_id)?|token|pat|secret|pass(?:word|wd|phrase)|credentials?)"
    r"(?:_?\d+)?$"
)
_STORE_NAMES = frozenset({STORE_VARIABLE, "PGPASSWORD"})
"""Variables that open the database of the sessions."""
_SHORTEST = 8
"""A shorter value is no key, and stands in too many texts by chance."""


def without_keys(env: Mapping[str, str], named: Iterable[str] = ()) -> dict[str, str]:
    """The environment without keys: known variables, telling names, texts that hold one of them or look so.

    Args:
        env: The environment.
        named: Variables that hold keys because the settings say so.
    """
    secret = {*key_variables(), *_STORE_NAMES, *named}
    secret |= {name for name in env if _SECRET_NAME.search(name)}
    values = {env[name] for name in secret if len(env.get(name, "")) >= _SHORTEST}
    kept = {name: value for name, value in env.items() if name not in secret}
    return {
        name: value
        for name, value in kept.items()
        if not any(key in value for key in values) and mask_secrets(value) == value
    }


def keys_in(env: Mapping[str, str], named: Iterable[str] = (), store: str = "") -> frozenset[str]:
    """The keys themselves, so that no text carries them to where the variables do not go.

    Args:
        env: The environment.
        named: Variables that hold keys because the settings say so.
        store: Address of the database of the sessions, which may hold a password.
    """
    kept = without_keys(env, named)
    found = [*(value for name, value in env.items() if name not in kept), store, *store_secrets(store)]
    return frozenset(value for value in found if len(value) >= _SHORTEST)


@dataclass(frozen=True, slots=True)
class Secrets(Collection[str]):
    """Every key that is known by now: a model may be given its key while the session runs."""

    fixed: frozenset[str] = field(repr=False)
    """Those in the environment."""
    keys: ApiKeys = field(repr=False)
    """Where the others are looked up."""

    def _all(self) -> frozenset[str]:
        return self.fixed | {key for key in self.keys.secrets if len(key) >= _SHORTEST}

    def __contains__(self, text: object) -> bool:
        """Whether a text is one of them."""
        return text in self._all()

    def __iter__(self) -> Iterator[str]:
        """Each of them."""
        return iter(self._all())

    def __len__(self) -> int:
        """How many there are."""
        return len(self._all())


def masked(text: str, keys: Iterable[str]) -> str:
    """A text in which none of these keys stands."""
    for key in sorted(keys, key=len, reverse=True):
        text = text.replace(key, MASK)
    return text
