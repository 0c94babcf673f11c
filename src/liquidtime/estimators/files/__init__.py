"""Model folders: written, checked and read."""
