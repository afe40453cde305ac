"""News of five topics to train a classifier on, and the tokenizer for it.

`load_news` gives texts and labels, split before any tokenizer is trained; `train_tokenizer` learns the
word pieces from the training texts alone.
"""

from attention_lab.corpus.generate import Split
from attention_lab.corpus.news import CLASS_NAMES, News, load_news
from attention_lab.corpus.tokenizer import train_tokenizer

__all__ = ["CLASS_NAMES", "News", "Split", "load_news", "train_tokenizer"]
