"""What several environments need: reading answers, dialogues, finite decision problems, word games, English."""
