"""Word games: word lists, the marks of Wordle, games of one secret, secrets that are entered symbol by symbol."""
