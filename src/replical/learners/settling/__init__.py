"""What Settled remembers: errors heard and supposed, purses against rivals, charges against candidates.

Candidates are counted by their places in the shared order, the first at place 0. Of those that have had one history
only the first, the head of its group, is kept up to date.
"""
