"""The conformance kit: one behaviour suite over every backend, and over the reference."""
