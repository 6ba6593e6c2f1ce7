"""What Settled remembers: errors heard and supposed, purses against rivals, charges against candidates.

Candidates are counted by their places in the shared order, the first at place 0.
"""
