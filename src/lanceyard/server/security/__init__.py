"""Security: who asks, and what they may do."""
