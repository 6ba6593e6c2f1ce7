"""Who answers: a known column, a function, a population."""
