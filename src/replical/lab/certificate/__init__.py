"""What a run publishes: the file, a readable page of it, checking one, comparing several."""
