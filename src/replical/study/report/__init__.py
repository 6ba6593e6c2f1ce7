"""What a study shows and what it does not, in sentences, tables and one page."""
