"""What a model can do, as far as its family is known; no vendor's SDK is loaded for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.profiles.deepseek import deepseek_model_profile
from pydantic_ai.profiles.google import google_model_profile
from pydantic_ai.profiles.groq import groq_model_profile
from pydantic_ai.profiles.mistral import mistral_model_profile
from pydantic_ai.profiles.openai import openai_model_profile

_FAMILIES: Mapping[str, Callable[[str], ModelProfile | None]] = MappingProxyType(
    {
        "anthropic": anthropic_model_profile,
        "deepseek": deepseek_model_profile,
        "google": google_model_profile,
        "groq": groq_model_profile,
        "mistral": mistral_model_profile,
        "openai": openai_model_profile,
    }
)
_SEEING = ("claude-", "gemini-", "gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "o3", "o4")
"""Beginnings of the names of models whose makers say that they take pictures."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is known about a model; None where nothing is."""

    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None


def capabilities(prefix: str, model: str) -> Capabilities:
    """Look up what a vendor's model can do.

    Args:
        prefix: The vendor, as in front of the model's name.
        model: The name behind it.
    """
    family = _FAMILIES.get(prefix.partition("-")[0])
    profile = family(model) if family is not None else None
    if profile is None:
        return Capabilities()
    images = True if model.startswith(_SEEING) else None
    return Capabilities(profile.get("supports_tools", True), profile.get("supports_thinking", False), images)
