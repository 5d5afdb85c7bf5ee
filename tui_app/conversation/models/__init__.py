"""Changes of model and effort."""
