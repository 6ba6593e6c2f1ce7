"""The algorithms, each a conversation that reads like its pseudo-code: it asks for labels, hears them, and returns a result.

`base` drives any of them with any source of labels, `result` is what they return. `rounding` holds the steps of Rounded,
`fast` the same runs made in bulk or without a conversation, for audits.
"""
