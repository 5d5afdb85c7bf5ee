"""The policies that are built in, and policies that a person makes out of them.

Each preset stands for a known way to govern a context window, with the sizes that belong to it.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from tui_app.context.policy import OFF, PLIMSOLL, MessageLimit, Policy, Stages, TokenLimit
from tui_app.context.stages.settings import (
    SLIDING_WINDOW_MARKER,
    Archive,
    NormaliseLimits,
    Offload,
    Pointers,
    Trim,
)
from tui_app.context.summaries.forms import Form

__all__ = ["BACKGROUND", "OFF", "PLIMSOLL", "PRESETS", "PROGRESSIVE", "RESERVE", "SLIDING_WINDOW", "derive"]

Sizes = NormaliseLimits | Offload | Archive | Trim | Pointers
S = TypeVar("S", bound=Sizes)

SLIDING_WINDOW = Policy(
    name="sliding-window",
    about="above 40 messages; keeps the first run and the last 20 messages, cuts older tool results",
    limit=MessageLimit(messages=40),
    keep_first_run=True,
    manual_keeps_recent=False,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    fallback="marker",
    form=Form(summary="[Notes on {count} messages that stood here]\n{summary}", way_back=False),
    manual_form=Form(
        summary="[Notes on the whole conversation so far]\n{summary}",
        acknowledgement="Understood, I know what was said so far.",
        way_back=False,
    ),
    stages=Stages(trim=Trim(chars=2_000, keep_messages=2, marker=SLIDING_WINDOW_MARKER)),
)
RESERVE = Policy(
    name="reserve",
    about="after a turn that leaves less than 16,384 tokens; keeps the last 20,000, archives tool results",
    limit=TokenLimit(reserve=16_384, unknown=8_000, messages=50),
    at_turn_end=True,
    recent_tokens=20_000,
    recent_messages=5,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    fallback="none",
    form=Form(summary="[Notes on what was said before]\n{summary}", way_back=False),
    stages=Stages(normalise=NormaliseLimits(), archive=Archive(cutoff=10, strategy="llm")),
)
BACKGROUND = Policy(
    name="background",
    about="starts at 80 % in the background, waits at 95 %; keeps your words and what came after",
    recent_share=0.0,
    facts_share=0.0,
    fallback="none",
    form=Form(way_back=False),
)
PROGRESSIVE = Policy(
    name="progressive",
    about="large results to files, pointers at 85 %, a summary at 95 %; keeps the last 20 %",
    background_threshold=0.95,
    blocking_threshold=0.95,
    recent_share=0.20,
    user_share=0.0,
    facts_share=0.0,
    plan_share=0.0,
    form=Form(
        summary=(
            "[BEGINNING OF THE NOTES]\nThis stands for what was said before. All of it is kept in "
            "conversation_history/, where grep and read_file find it.\n\n{summary}\n\n[END OF THE NOTES]"
        ),
        way_back=False,
    ),
    stages=Stages(offload=Offload(tokens=20_000, preview_lines=10), pointers=Pointers(threshold=0.85)),
)
PRESETS: dict[str, Policy] = {
    policy.name: policy for policy in (PLIMSOLL, SLIDING_WINDOW, RESERVE, BACKGROUND, PROGRESSIVE, OFF)
}

_AS_THEY_ARE = (
    "automatic", "background_threshold", "blocking_threshold", "minimum_messages", "at_turn_end",
    "recent_share", "recent_tokens", "recent_messages", "keep_first_run", "user_share", "facts_share",
    "pinned_share", "plan_share", "summary_share", "summary_by", "fallback",
)  # fmt: skip
"""Keys that are fields of a policy."""
_NORMALISE = {
    "tool_output_max_lines": "lines",
    "tool_output_max_bytes": "bytes",
    "tool_output_max_chars": "chars",
    "tool_output_spill_chars": "spill_chars",
    "tool_output_mode": "mode",
}
_OFFLOAD = {"offload_tokens": "tokens", "offload_preview_lines": "preview_lines"}
_ARCHIVE = {"tool_call_cutoff": "cutoff", "tool_summary_strategy": "strategy"}
_TRIM = {"tool_output_trim_chars": "chars", "trim_keep_messages": "keep_messages"}
_POINTERS = {"pointers_threshold": "threshold"}


def derive(name: str, changes: Mapping[str, object]) -> Policy:
    """Make a policy of one's own from a preset.

    Args:
        name: What it is called.
        changes: ``base`` names the preset; each other key replaces one size. The keys are flat and have been
            checked; a size of a stage turns the stage on unless the stage's own key is false.

    Raises:
        KeyError: if there is no such preset.
        ValueError: if the sizes of a stage do not go together.
    """
    base = PRESETS[str(changes["base"])]
    own: dict[str, Any] = {key: changes[key] for key in _AS_THEY_ARE if key in changes}
    return replace(
        base,
        name=name,
        about=f"your own, made from {base.name}",
        limit=_limit(base.limit, changes),
        stages=_stages(base.stages, changes),
        **own,
    )


def _limit(base: MessageLimit | TokenLimit | None, changes: Mapping[str, object]) -> Any:
    """What is counted: tokens take the place of messages, and both the place of shares."""
    messages = _renamed(changes, {"max_messages": "messages"})
    tokens = _renamed(changes, {"reserve_tokens": "reserve", "unknown_window_tokens": "unknown"})
    if tokens or isinstance(base, TokenLimit):
        return replace(base if isinstance(base, TokenLimit) else TokenLimit(), **tokens, **messages)
    if messages:
        return MessageLimit(**messages)
    return base


def _stages(base: Stages, changes: Mapping[str, object]) -> Stages:
    return Stages(
        normalise=_stage("normalise", base.normalise, NormaliseLimits, _NORMALISE, changes),
        offload=_stage("offload", base.offload, Offload, _OFFLOAD, changes),
        archive=_stage("archive", base.archive, Archive, _ARCHIVE, changes),
        trim=_stage("trim", base.trim, Trim, _TRIM, changes),
        pointers=_stage("pointers", base.pointers, Pointers, _POINTERS, changes),
    )


def _stage(
    name: str, base: S | None, built_in: type[S], keys: Mapping[str, str], changes: Mapping[str, object]
) -> S | None:
    sizes = _renamed(changes, keys)
    if not changes.get(name, base is not None or bool(sizes)):
        return None
    return replace(base if base is not None else built_in(), **sizes)


def _renamed(changes: Mapping[str, object], keys: Mapping[str, str]) -> dict[str, Any]:
    return {field: changes[key] for key, field in keys.items() if key in changes}
