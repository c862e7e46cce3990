"""Codriver's service: a request in, a spoken answer out."""

__version__ = "0.1.0"
