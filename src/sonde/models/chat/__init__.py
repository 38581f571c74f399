"""Conversations as text and token ids: templates, encoding, reasoning marks."""
