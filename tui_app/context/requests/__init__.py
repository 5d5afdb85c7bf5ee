"""Building model requests from the view, and governing them."""
