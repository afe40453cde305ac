"""The mistakes that the grader can name in `TextClassifier`."""

import math

import torch
import torch.nn.functional as F

from .text_classifier import text_classifier
from .text_classifier_alternatives import _Classifier


@text_classifier.mistake(
    "The mask is not handed on to the attention: every text attends to its padding, so its logits change "
    "with the batch it sits in. Call the attention with it, in `forward` and in `attend`."
)
class AttendsToPadding(_Classifier):
    def look(self, x, mask):
        return self.attention(x)


@text_classifier.mistake(
    "`attend` is right, but `forward` does not hand the mask to the attention: the logits of a text change "
    "with the padding of its batch. Call the attention with the mask there as well."
)
class ForwardAttendsToPadding(_Classifier):
    def forward(self, input_ids, mask=None):
        return super().forward(input_ids)


@text_classifier.mistake(
    "The mask arrives at the attention as its key: the second argument of a layer is `key`, and a mask given "
    "by its place lands there. Name it in the call."
)
class MaskAsKey(_Classifier):
    def look(self, x, mask):
        return self.attention(x, mask)


@text_classifier.mistake(
    "`mask` is not used: you make one of your own from the ids that are 0. What may be seen is for the "
    "caller to say, so hand on the mask that came in, None included."
)
class MakesItsOwnMask(_Classifier):
    def look(self, x, mask):
        return self.attention(x, mask=self.seen)

    def embed(self, input_ids):
        self.seen = (input_ids != 0)[:, None]
        return super().embed(input_ids)


@text_classifier.mistake(
    "Without a mask you make one of your own from the ids that are 0. Where none is given nothing is to be "
    "hidden: hand on None."
)
class MakesUpAMissingMask(MakesItsOwnMask):
    def look(self, x, mask):
        return self.attention(x, mask=self.seen if mask is None else mask)


@text_classifier.mistake(
    "The mask is turned round on its way: the attention sees the padding and not the tokens. The layers take "
    "True as “may attend”, just as `collate` makes it: hand it on as it is."
)
class MaskTurnedRound(_Classifier):
    def look(self, x, mask):
        return self.attention(x, mask=None if mask is None else ~mask)


@text_classifier.mistake(
    "The logits are made from the mean over all places, padding included. The classifier reads the first "
    "token only: attention has brought it what it needs from the others."
)
class MeanOverThePlaces(_Classifier):
    def read(self, output):
        return output.mean(dim=1)


@text_classifier.mistake(
    "The logits are made from the largest numbers over all places. The classifier reads the first token "
    "only: attention has brought it what it needs from the others."
)
class MaximumOverThePlaces(_Classifier):
    def read(self, output):
        return output.amax(dim=1)


@text_classifier.mistake(
    "The last place is read, which in a padded batch is padding. Read the first token, the one that every "
    "text has."
)
class ReadsTheLastToken(_Classifier):
    def read(self, output):
        return output[:, -1]


@text_classifier.mistake(
    "The first *text* is read, not the first token of each: you get logits for T tokens instead of B texts. "
    "The output is (B, T, E), and the tokens are its second axis."
)
class ReadsTheFirstText(_Classifier):
    def read(self, output):
        return output[0]


@text_classifier.mistake(
    "All tokens are classified: there are logits for each of the T places. One text has one class: keep the "
    "first token of each text, so that the shape is (B, C)."
)
class ClassifiesEveryToken(_Classifier):
    def read(self, output):
        return output


@text_classifier.mistake(
    "The first token is read before it could look around: the logits depend on its embedding alone. Read it "
    "from the attention's output."
)
class ReadsTheEmbedding(_Classifier):
    def forward(self, input_ids, mask=None):
        return self.decide(self.embed(input_ids)[:, 0])


@text_classifier.mistake(
    "What comes back are probabilities: each row sums to 1. `forward` returns logits, for the cross-entropy "
    "takes the softmax itself, and a second one makes training slow and blunt."
)
class SoftmaxOnTheLogits(_Classifier):
    def decide(self, read):
        return torch.softmax(super().decide(read), dim=-1)


@text_classifier.mistake(
    "What comes back are logarithms of probabilities: a log-softmax comes last. `forward` returns the "
    "logits as `final` gives them; the cross-entropy does the rest."
)
class LogSoftmaxOnTheLogits(_Classifier):
    def decide(self, read):
        return F.log_softmax(super().decide(read), dim=-1)


@text_classifier.mistake(
    "The embedding of id 0 gets a gradient, so the padding would be trained like a word. Tell the embedding "
    "that 0 is its padding index."
)
class PaddingLearns(_Classifier):
    padding_idx = None


@text_classifier.mistake(
    "`positional` changes nothing: it is kept and never called. Where it is given, send the embeddings "
    "through it before the attention."
)
class PositionsIgnored(_Classifier):
    def embed(self, input_ids):
        return self.embedding(input_ids)


@text_classifier.mistake(
    "`positional` is not kept by the module: its parameters are missing among the classifier's, and no "
    "optimizer would train them. Keep it under the name `positional`, and send the embeddings through it."
)
class PositionsNotKept(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, attention)


@text_classifier.mistake(
    "The positions come after the attention, when the tokens have already been mixed: the weights cannot "
    "depend on order. Send the embeddings through `positional` before the attention."
)
class PositionsAfterAttention(PositionsIgnored):
    def look(self, x, mask):
        output, weights = self.attention(x, mask=mask)
        return output if self.positional is None else self.positional(output), weights


@text_classifier.mistake(
    "`positional` is applied twice. Once is enough: what it returns already holds the words and their places."
)
class PositionsTwice(_Classifier):
    def embed(self, input_ids):
        x = super().embed(input_ids)
        return x if self.positional is None else self.positional(x)


@text_classifier.mistake(
    "What `positional` returns is added to the embeddings, but it holds them already: the words count twice. "
    "Use what it returns in their place."
)
class PositionsAddedToTheWords(_Classifier):
    def embed(self, input_ids):
        x = self.embedding(input_ids)
        return x if self.positional is None else x + self.positional(x)


@text_classifier.mistake(
    "The embeddings are multiplied by the square root of their width. The paper's model does that; this "
    "classifier takes them as they are."
)
class EmbeddingsScaled(_Classifier):
    def embed(self, input_ids):
        x = self.embedding(input_ids) * math.sqrt(self.embedding.embedding_dim)
        return x if self.positional is None else self.positional(x)
