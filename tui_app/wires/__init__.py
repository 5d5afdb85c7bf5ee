"""The wires: how requests and answers of each protocol look, and what servers make of them."""
