"""A graphics card: which is used, and the kernels of `replical.core.kernels` in PyTorch. Loaded where a card is named."""
