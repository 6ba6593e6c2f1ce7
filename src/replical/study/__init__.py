"""Grids of audits from one file: which cells there are, who runs them, what they showed.

`spec` reads the file, `scheduler` has its cells run by `workers`, `store` keeps them, `results` has a row for each.
`pictures` draws the rows, `report` says in sentences what they show and what they do not.
"""
