"""The algorithms, each a conversation that reads like its pseudo-code: it asks for labels and returns a result.

`base` drives any of them with any source of labels, `result` is what they return, `proof` how others check what they prove.
"""
