"""Vectors for 143 words, small and trained: enough for attention over a sentence that means something.

Each word has two. `meaning_vectors` say what a word is, `context_vectors` which words are next to it. The
dot product of one word's meaning and another's context approximates their pointwise mutual information: the
logarithm of how much more often than by chance the two share a sentence, or 0 if they do not share one more
often than by chance. Some words occur in two kinds of sentence, and their vector is between the two: bank,
mouse, star, bat, note, key, chip, pitch, court, net, screen, office, owl, vault.

Made of the singular vectors of these logarithms, counted over 1,500 generated sentences for each of a few
scenes.
Levy and Goldberg (2014), "Neural word embedding as implicit matrix factorization".
"""

from attention_lab.words.vectors import context_vectors, meaning_vectors, nearest_words

__all__ = ["context_vectors", "meaning_vectors", "nearest_words"]
