"""English, whatever it is about: letters, words, numbers, times, sentences and names."""
