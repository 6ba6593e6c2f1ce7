"""Is a published answer confirmed: what may be asked, the file a confirmation publishes, and checking it."""
