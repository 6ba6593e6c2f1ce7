"""Hypothesis classes."""
