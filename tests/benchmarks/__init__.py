"""Benchmarks, always as a ratio to a baseline measured alongside: ratios hardly differ between machines."""
