"""A small character model made of a learner's own attention, cache and rotary positions; it writes the news.

In a terminal, in the folder of one's lessons: ``python -m attention_lab.characters``.
"""

from attention_lab.characters.own_answers import OwnAnswers, own_answers
from attention_lab.characters.training import CharacterModel, Text, train, write

__all__ = ["CharacterModel", "OwnAnswers", "Text", "own_answers", "train", "write"]
