"""Grids of audits from one file: which cells there are, who runs them, what they showed.

`spec` reads the file, `scheduler` has its cells run, `store` keeps them, `results` has a row for each, `judging` says what
a row means. `pictures` draws the rows, `report` says in sentences and tables what they show and what they do not.
"""
