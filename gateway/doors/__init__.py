"""Doors translate a protocol into utterances and replies. They decide nothing."""
