"""Commands that set Plimsoll up, check it and list what it knows."""
