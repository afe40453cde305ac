"""Vectors for 143 words, small and trained: enough for attention over a sentence that means something.

Each word has two. `meaning_vectors` say what a word is, `context_vectors` what it stands beside: the
product of one word's meaning and another's context is how much oftener than by chance the two stand in one
sentence, as a logarithm (their pointwise mutual information, 0 where it is no oftener). Some words stand in
two kinds of sentence, and their vector lies between the two: bank, mouse, star, bat, note, key, chip,
pitch, court, net, screen, office, owl, vault.

Trained by `python -m attention_lab.words.train`, from the sentences of `scenes.toml`.
Levy and Goldberg (2014), "Neural word embedding as implicit matrix factorization".
"""

from attention_lab.words.vectors import context_vectors, meaning_vectors, nearest_words

__all__ = ["context_vectors", "meaning_vectors", "nearest_words"]
