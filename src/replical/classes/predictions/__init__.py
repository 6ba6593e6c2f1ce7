"""What every hypothesis says about every item of one pool; `base` has the interface and picks the form."""
