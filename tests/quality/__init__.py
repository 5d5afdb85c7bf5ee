"""Quality of compactions, measured without a judging model: ``python -m tests.quality --help``."""
