"""A run that a lab can stop and go on with."""
