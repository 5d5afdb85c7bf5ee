"""Tools of the model: what they may reach, and what they return."""
