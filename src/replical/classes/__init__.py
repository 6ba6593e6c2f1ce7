"""What is chosen from: finite, ordered, public classes of hypotheses, and what their members say about items.

A class is one file and one record in the catalogue; a spec of the command line or a section of a protocol names it.
`predictions` holds what everyone says about every item of a pool, `prior` who comes early in the shared order.
"""
