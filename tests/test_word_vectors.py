"""The word vectors are enough to tell a river's bank from a lender's."""

import pytest
import torch

from attention_lab.words import context_vectors, meaning_vectors, nearest_words


@pytest.mark.parametrize(
    ("sentence", "word", "becomes", "not_any_more"),
    [
        ("the fisherman pulled the boat on the bank", "bank", {"sailor", "wave"}, {"market", "counter"}),
        ("the clerk counted the money in the bank", "bank", {"banker", "money"}, {"shore", "water"}),
        ("the cat chased the mouse in the barn", "mouse", {"farmer", "cheese"}, {"program"}),
        ("the student clicked the mouse on the keyboard", "mouse", {"programmer", "laptop"}, {"farmer"}),
        ("the actor was the star in the film", "star", {"actor", "singer"}, {"planet"}),
    ],
)
def test_attention_gives_a_word_its_sentences_meaning(sentence, word, becomes, not_any_more):
    words = sentence.split()
    meaning, context = meaning_vectors(words), context_vectors(words)
    output = torch.softmax(meaning @ context.T, dim=-1) @ meaning
    place = words.index(word)
    before, after = (nearest_words(each[place], 12) for each in (meaning, output))
    assert becomes <= set(after) and not not_any_more & set(after)
    assert not_any_more & set(before)


def test_a_word_that_it_does_not_know_is_said():
    with pytest.raises(ValueError, match=r"no vectors for zebra\. There are for: .*bank"):
        meaning_vectors(["bank", "zebra"])
