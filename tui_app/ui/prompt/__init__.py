"""The prompt: the editor, its completion, and the row around it."""
