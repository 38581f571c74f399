"""Meaning: claims, columns of knowledge, declared phrasings, and the grammar that combines them."""
