"""The same runs, faster: many of them at once on a known distribution, or along a line without a conversation.

The learners' own files are the reference; tests compare whole results.
"""
