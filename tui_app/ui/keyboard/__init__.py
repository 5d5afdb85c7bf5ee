"""Keys: bindings, typing ahead, vim."""
