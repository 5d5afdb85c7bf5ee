"""How large the window of a model is, and who says so."""
