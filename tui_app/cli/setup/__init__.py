"""Commands for setup, checks and reference lists."""
