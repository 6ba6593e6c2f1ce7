"""Learners: conversations that ask for labels and end in a result."""
