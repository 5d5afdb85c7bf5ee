"""Numbers, costs and facts in words."""
