"""What the user has set: one frozen value, read once from file, environment and flags."""

from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL
from tui_app.settings.sources import SettingsError, WrongFile, WrongFlag
from tui_app.settings.spec import Endpoint, ReviewMode, Settings
from tui_app.settings.values import OFFLINE_WINDOW, build_settings, load_settings, resolve_model

__all__ = [
    "MODELS_BY_KEY",
    "OFFLINE_MODEL",
    "OFFLINE_WINDOW",
    "Endpoint",
    "ReviewMode",
    "Settings",
    "SettingsError",
    "WrongFile",
    "WrongFlag",
    "build_settings",
    "load_settings",
    "resolve_model",
]
