"""Figures of a session: tokens, costs, receipts."""
