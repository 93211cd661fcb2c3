"""Programs, mended by running them."""
