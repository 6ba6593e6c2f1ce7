"""Where labels are written down, and what they come to."""
