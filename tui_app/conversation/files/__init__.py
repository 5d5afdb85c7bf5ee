"""Files of the workspace as a conversation changes them."""
