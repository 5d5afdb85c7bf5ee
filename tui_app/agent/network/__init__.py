"""Which addresses a request may reach."""
