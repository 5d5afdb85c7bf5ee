"""What each request carries besides messages."""
