"""`plimsoll doctor`: what is wrong, and mending it."""
