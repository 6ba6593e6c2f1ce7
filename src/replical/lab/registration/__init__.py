"""Runs that are announced before their first label: the file that says so, and certificates checked against it."""
