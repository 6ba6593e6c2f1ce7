"""One private answer from many labs: what a lab sends, the noise, what it costs, what is published."""
