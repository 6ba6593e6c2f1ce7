"""The loops that take the time, on back ends that agree to the bit: NumPy alone, numba, and most of them PyTorch.

A kernel is a NumPy function, which is the reference; `backend` has it run by another version where that pays. Those are in
modules `numba_*` and `torch_*`, which are imported when they are needed.
"""
