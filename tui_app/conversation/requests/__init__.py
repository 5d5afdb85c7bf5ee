"""What each request carries beside the messages."""
