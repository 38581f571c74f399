"""Houses of `text_nav`: plans, command semantics, texts, generated houses, and the shortest path to the goal."""
