"""Build requests from the view, and govern them."""
