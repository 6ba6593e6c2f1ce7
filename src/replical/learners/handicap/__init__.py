"""Handicap: the smallest error plus public handicap, and a set that is proven to contain it at every moment."""
