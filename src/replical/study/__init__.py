"""Studies: a grid of audits, with tables, figures and one report."""
