"""A request that is too long: recognised, and made to fit."""
