"""The loops that take the time, each with two back ends that agree to the bit: NumPy alone, and numba.

A module holds one operation: its plain NumPy version, which is the reference, and who runs it. Compiled versions are in
modules of their own, which are imported when `choice` says that it pays; `jit` compiles, `threads` shares work among
cores.
"""
