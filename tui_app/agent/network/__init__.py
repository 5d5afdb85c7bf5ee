"""Network addresses, and which of them a request may reach."""
