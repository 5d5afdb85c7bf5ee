"""The two colour themes: sea blue for what can be acted on, amber for *near*, red for *full*.

Text colours are fixed values rather than faded ones, because a faded colour drops below the contrast of
4.5:1 (WCAG 2.1, level AA) as soon as it stands on a panel.
"""

from collections.abc import Mapping
from dataclasses import replace

from textual.theme import Theme

DARK = Theme(
    name="plimsoll-dark",
    primary="#4fb3d9",
    secondary="#7fa8c9",
    accent="#4fb3d9",
    warning="#e5a93d",
    error="#ff7a70",
    success="#6cc58f",
    foreground="#d9e2ea",
    background="#0d1720",
    surface="#13212d",
    panel="#1b2d3c",
    dark=True,
    variables={
        "text-muted": "#93a7b8",
        "text-disabled": "#8ea2b3",
        "foreground-muted": "#93a7b8",
        "text-primary": "#6cc3e4",
        "text-accent": "#6cc3e4",
        "text-warning": "#efb957",
        "text-error": "#ff938a",
        "text-success": "#7fd3a0",
        "block-cursor-background": "#15394d",
        "block-cursor-foreground": "#ffffff",
        "scrollbar": "#35506a",
        "scrollbar-hover": "#4a6a87",
        "scrollbar-active": "#4fb3d9",
        "scrollbar-background": "#13212d",
        "scrollbar-background-hover": "#13212d",
        "scrollbar-background-active": "#13212d",
        "scrollbar-corner-color": "#13212d",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#1b3444",
        "block-cursor-blurred-foreground": "#d9e2ea",
        "input-cursor-background": "#d9e2ea",
        "input-selection-background": "#235a76",
        "border": "#4fb3d9",
        "border-blurred": "#35506a",
        "footer-key-foreground": "#6cc3e4",
    },
)

LIGHT = Theme(
    name="plimsoll-light",
    primary="#0b6489",
    secondary="#3f617d",
    accent="#0b6489",
    warning="#8a5200",
    error="#b3261e",
    success="#1f6b3d",
    foreground="#16242f",
    background="#fbfcfd",
    surface="#f1f5f8",
    panel="#e6edf2",
    dark=False,
    variables={
        "text-muted": "#4f6271",
        "text-disabled": "#526573",
        "foreground-muted": "#4f6271",
        "text-primary": "#0b5c7e",
        "text-accent": "#0b5c7e",
        "text-warning": "#7a4900",
        "text-error": "#a8221b",
        "text-success": "#1b6137",
        "block-cursor-background": "#d3e6f0",
        "block-cursor-foreground": "#0c1a24",
        "scrollbar": "#a9bfce",
        "scrollbar-hover": "#86a2b6",
        "scrollbar-active": "#0b6489",
        "scrollbar-background": "#f1f5f8",
        "scrollbar-background-hover": "#f1f5f8",
        "scrollbar-background-active": "#f1f5f8",
        "scrollbar-corner-color": "#f1f5f8",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "#dfeaf1",
        "block-cursor-blurred-foreground": "#16242f",
        "input-cursor-background": "#16242f",
        "input-selection-background": "#bcdcea",
        "input-selection-foreground": "#16242f",
        "border": "#0b6489",
        "border-blurred": "#a9bfce",
        "footer-key-foreground": "#0b5c7e",
    },
)

THEMES: tuple[Theme, ...] = (DARK, LIGHT)
"""Register each with ``App.register_theme`` and set ``App.theme`` to its name."""

_FOLLOWERS: Mapping[str, tuple[str, ...]] = {
    "accent": (
        "text-primary",
        "text-accent",
        "border",
        "footer-key-foreground",
        "scrollbar-active",
    ),
    "warning": ("text-warning",),
    "error": ("text-error",),
    "success": ("text-success",),
    "foreground": (
        "block-cursor-foreground",
        "block-cursor-blurred-foreground",
        "input-cursor-background",
    ),
    "muted": ("text-muted", "text-disabled", "foreground-muted"),
    "surface": (
        "scrollbar-background",
        "scrollbar-background-hover",
        "scrollbar-background-active",
        "scrollbar-corner-color",
    ),
    "selection": (
        "block-cursor-background",
        "block-cursor-blurred-background",
        "input-selection-background",
    ),
    "border": ("border-blurred", "scrollbar", "scrollbar-hover"),
}
"""What else takes a colour that a person's own theme gives."""
_FIELDS = ("accent", "warning", "error", "success", "foreground", "background", "surface", "panel")


def own_theme(name: str, colours: Mapping[str, str]) -> Theme:
    """A theme of a person's own: one of ours with some colours changed.

    Args:
        name: What it is called.
        colours: ``base`` and colours, as the settings have checked them.
    """
    base = next(theme for theme in THEMES if theme.name == colours["base"])
    variables = dict(base.variables)
    for colour, followers in _FOLLOWERS.items():
        if colour in colours:
            variables.update(dict.fromkeys(followers, colours[colour]))
    own = replace(base, name=name, variables=variables, primary=colours.get("accent", base.primary))
    for field in _FIELDS:
        setattr(own, field, colours.get(field, getattr(base, field)))
    return own


def own_themes(themes: Mapping[str, Mapping[str, str]]) -> list[Theme]:
    """All themes of a person's own, as the setting ``themes`` names them."""
    return [own_theme(name, colours) for name, colours in themes.items()]
