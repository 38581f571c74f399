"""What a message means to somebody: claims, columns, declared phrasings, and the grammar that joins them."""
