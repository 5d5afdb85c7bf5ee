"""Sessions of Mistral's Vibe: OpenAI messages, with folder and model in a separate file."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import OPENAI_TOKENS, Shape
from tui_app.session.importers.source import Source, beside_file


def _fits(source: Source) -> bool:
    """Return whether lines that many formats have are accompanied by the file that only Vibe writes."""
    return source.document is None and "environment" in beside_file(source.path, "meta.json")


VIBE = Shape(
    name="vibe", program="Vibe",
    signs=("messages metadata.environment.working_directory",),
    fits=_fits, places=(files_in("VIBE_HOME", ".vibe", "logs/session/*/messages.jsonl"),),
    talk=("messages",), tokens=OPENAI_TOKENS, title=("title", "metadata.title"),
    cwd=("environment.working_directory", "metadata.environment.working_directory"),
    models=("config.active_model", "agent_config.active_model", "metadata.agent_config.active_model"),
    sidecar="meta.json",
)  # fmt: skip
