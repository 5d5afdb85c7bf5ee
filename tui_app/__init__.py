"""Plimsoll: a terminal agent whose conversation never outgrows its model."""
