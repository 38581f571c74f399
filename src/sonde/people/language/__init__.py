"""What a message says, whatever it is about: letters, words, numbers, times, sentences, names."""
