"""The prompt: the editor, what it completes, and the row below it."""
