"""Writing summaries: by a model, by extraction, or not at all."""
