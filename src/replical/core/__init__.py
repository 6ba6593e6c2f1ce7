"""Parts that know nothing of learning: numbers two machines agree on, packed bits, randomness, files, processes.

Whatever has to come out alike on every machine is here: spelling, decimals, random words. Nothing in this room knows
what a hypothesis is.
"""
