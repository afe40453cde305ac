"""Attention, ready made, for the opening example. You write `attend` yourself in exercise 1.2."""

import torch

from attention_lab.words import context_vectors, meaning_vectors, nearest_words


def attend(query, key, value):
    """Dot-product attention.

    query: (T_q, d)      key: (T_k, d)      value: (T_k, d_v)
    returns: output (T_q, d_v) and weights (T_q, T_k)
    """
    weights = torch.softmax(query @ key.mT, dim=-1)
    return weights @ value, weights


def in_context(sentence, attention=attend):
    """Let the last word of a sentence attend to all its words.

    attention: a function (query, key, value) -> (output, weights)
    returns: the words of the sentence, the weight of each (T,), and the words near the output
    """
    words = sentence.split()
    meaning, context = meaning_vectors(words), context_vectors(words)  # (T, 12) each
    output, weights = attention(meaning, context, meaning)
    return words, weights[-1], nearest_words(output[-1])
