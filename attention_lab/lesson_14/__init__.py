"""What lesson 14 gives: a language model read from its file, around any blocks, and experiments with it."""
