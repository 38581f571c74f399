"""Conversations as text and token ids: chat templates, encoding, reasoning marks."""
