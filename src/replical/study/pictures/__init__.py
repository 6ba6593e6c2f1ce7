"""Pictures of a study and of label bills, one module for each kind, in one style."""
