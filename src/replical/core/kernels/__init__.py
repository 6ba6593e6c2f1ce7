"""The loops that take the time, on back ends that agree to the bit: NumPy alone, numba, and most of them PyTorch.

A module holds one operation: its plain NumPy version, which is the reference, and who runs it. Compiled versions are in
modules of their own, which are imported when `choice` says that it pays; `jit` compiles, `threads` shares work among
cores. PyTorch's are in modules `torch_*`; `device` knows the card and what is held on it.
"""
