"""What a summary says, against what was really said."""
