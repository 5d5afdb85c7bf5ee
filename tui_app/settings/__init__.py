"""The user's settings: one frozen value, read once from file, environment and flags."""

from tui_app.providers import MODELS_BY_KEY as MODELS_BY_KEY
from tui_app.providers import OFFLINE_MODEL as OFFLINE_MODEL
from tui_app.settings.sources import SettingsError as SettingsError
from tui_app.settings.sources import WrongFile as WrongFile
from tui_app.settings.sources import WrongFlag as WrongFlag
from tui_app.settings.spec import Endpoint as Endpoint
from tui_app.settings.spec import ReviewMode as ReviewMode
from tui_app.settings.spec import Settings as Settings
from tui_app.settings.values import OFFLINE_WINDOW as OFFLINE_WINDOW
from tui_app.settings.values import build_settings as build_settings
from tui_app.settings.values import load_settings as load_settings
from tui_app.settings.values import resolve_model as resolve_model
