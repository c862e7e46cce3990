"""Measured figures: ratios within one run, never asserted as absolute times. `make bench`."""
