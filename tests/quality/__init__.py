"""How good a compaction is, measured without a judge: ``python -m tests.quality --help``."""
