"""The screen. Textual is imported here and nowhere else."""
