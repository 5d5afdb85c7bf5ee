"""Parts of the chat screen around the transcript."""
