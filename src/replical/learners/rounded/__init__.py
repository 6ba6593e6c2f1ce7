"""Rounded: few labels and a shared random ball."""
