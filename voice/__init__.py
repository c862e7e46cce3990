"""Speech as a library: bytes and text in, text and bytes out. Knows nothing of sessions or HTTP."""
