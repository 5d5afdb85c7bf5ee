"""The ledger of a session: what happened, derived from its messages without interpreting human language."""
