"""From the view to one request, and around it."""
