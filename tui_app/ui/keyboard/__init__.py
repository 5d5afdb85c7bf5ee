"""Keys: bindings, type-ahead, vim."""
