"""A user's work with the program from the first start on, step by step; each is checked on the screen."""
