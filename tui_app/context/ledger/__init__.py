"""The ledger of a session: what happened, folded from its messages without reading any language."""
