"""Trajectories in ATIF, as Harbor and others write them."""

from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import objects_at, text_at


def _atif(step: Json) -> Json:
    results = [
        {"tool_use_id": each.get("source_call_id"), "content": each.get("content")}
        for each in objects_at(step, "observation.results")
    ]
    return {**step, "results": results, "content": step.get("message")}


ATIF = Shape(
    name="atif", program="ATIF", sign=lambda each: text_at(each, "schema_version").startswith("ATIF"),
    talk=("steps",), role=("source",), model=("model_name",),
    tokens={
        "total": ("metrics.prompt_tokens",),
        "output": ("metrics.completion_tokens",),
        "read": ("metrics.cached_tokens",),
    },
    models=("agent.model_name",), convert=_atif,
)  # fmt: skip
