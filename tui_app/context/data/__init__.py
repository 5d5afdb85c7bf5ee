"""Token ranks shipped with the package, so that counting needs no network."""
