"""Trajectories in ATIF, written by Harbor and others."""

from tui_app.session.importers.shape import Shape

ATIF = Shape(
    name="atif", program="ATIF", signs=("schema_version^=ATIF",),
    talk=("steps",), role=("source",), model=("model_name",), cost=("metrics.cost_usd",),
    tokens={
        "total": "metrics.prompt_tokens", "output": "metrics.completion_tokens",
        "read": "metrics.cached_tokens",
    },
    models=("agent.model_name",), content=("message",), results=("observation.results",),
)  # fmt: skip
