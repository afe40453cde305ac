"""The mistakes that the grader can name in `TextClassifier`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring.causes import add_causes

from .text_classifier import _Classifier, text_classifier


@text_classifier.mistake(
    "The mask is not passed to the attention: every text attends to its padding, so its logits depend on "
    "the other texts of its batch. Pass the mask in `forward` and in `attend`."
)
class AttendsToPadding(_Classifier):
    def look(self, x, mask):
        return self.attention(x)


@text_classifier.mistake(
    "`attend` is right, but `forward` does not pass the mask to the attention: the logits of a text "
    "change with its padding. Pass the mask there too."
)
class ForwardAttendsToPadding(_Classifier):
    def forward(self, input_ids, mask=None):
        return super().forward(input_ids)


@text_classifier.mistake(
    "The attention gets the mask as its key: the second argument of a layer is `key`, and you pass the "
    "mask by position. Pass it by name."
)
class MaskAsKey(_Classifier):
    def look(self, x, mask):
        return self.attention(x, mask)


@text_classifier.mistake(
    "You ignore `mask` and make a mask of your own from the ids that are 0. The caller decides what is "
    "visible: pass on the mask you were given, or None."
)
class MakesItsOwnMask(_Classifier):
    def look(self, x, mask):
        return self.attention(x, mask=self.seen)

    def embed(self, input_ids):
        self.seen = (input_ids != 0)[:, None]
        return super().embed(input_ids)


@text_classifier.mistake(
    "If no mask is given, you make one from the ids that are 0. Without a mask every token is visible: "
    "pass on None."
)
class MakesUpAMissingMask(MakesItsOwnMask):
    def look(self, x, mask):
        return self.attention(x, mask=self.seen if mask is None else mask)


@text_classifier.mistake(
    "The mask is inverted on its way: the attention sees the padding and not the tokens. The layers read "
    "True as “may attend”, as `collate` makes it: pass it on unchanged."
)
class MaskTurnedRound(_Classifier):
    def look(self, x, mask):
        return self.attention(x, mask=None if mask is None else ~mask)


@text_classifier.mistake(
    "The logits come from the mean over all positions, padding included. The classifier reads the first "
    "token only, which attention has filled with what it needs from the others."
)
class MeanOverThePlaces(_Classifier):
    def read(self, output):
        return output.mean(dim=1)


@text_classifier.mistake(
    "You read the last position, which is padding in most texts of a batch. Read the first token, which "
    "every text has."
)
class ReadsTheLastToken(_Classifier):
    def read(self, output):
        return output[:, -1]


@text_classifier.mistake(
    "You read the first token before the attention, so the logits depend on its embedding alone. Read it "
    "from the attention's output."
)
class ReadsTheEmbedding(_Classifier):
    def forward(self, input_ids, mask=None):
        return self.decide(self.embed(input_ids)[:, 0])


@text_classifier.mistake(
    "You return probabilities: each row sums to 1. Return logits. The cross-entropy contains a softmax, "
    "and a second one flattens the gradients."
)
class SoftmaxOnTheLogits(_Classifier):
    def decide(self, read):
        return torch.softmax(super().decide(read), dim=-1)


@text_classifier.mistake(
    "The embedding of id 0 gets a gradient, so the padding would be trained like a word. Tell "
    "`nn.Embedding` that 0 is its padding index."
)
class PaddingLearns(_Classifier):
    padding_idx = None


@text_classifier.mistake(
    "`positional` has no effect: you keep it and never call it. If it is given, pass the embeddings "
    "through it before the attention."
)
class PositionsIgnored(_Classifier):
    def embed(self, input_ids):
        return self.embedding(input_ids)


@text_classifier.mistake(
    "The positions come after the attention, which has already mixed the tokens: the weights cannot "
    "depend on order. Pass the embeddings through `positional` before the attention."
)
class PositionsAfterAttention(PositionsIgnored):
    def look(self, x, mask):
        output, weights = self.attention(x, mask=mask)
        return output if self.positional is None else self.positional(output), weights


@text_classifier.mistake(
    "`positional` is applied twice. Apply it once: its result already holds the words and their positions."
)
class PositionsTwice(_Classifier):
    def embed(self, input_ids):
        x = super().embed(input_ids)
        return x if self.positional is None else self.positional(x)


@text_classifier.mistake(
    "You add the result of `positional` to the embeddings, but it already holds them, so the words count "
    "twice. Use the result in their place."
)
class PositionsAddedToTheWords(_Classifier):
    def embed(self, input_ids):
        x = self.embedding(input_ids)
        return x if self.positional is None else x + self.positional(x)


@text_classifier.mistake(
    "The embeddings are multiplied by the square root of their width. The paper's model does that; this "
    "classifier uses them as they are."
)
class EmbeddingsScaled(_Classifier):
    def embed(self, input_ids):
        x = self.embedding(input_ids) * math.sqrt(self.embedding.embedding_dim)
        return x if self.positional is None else self.positional(x)


@text_classifier.mistake(
    "There is no ReLU between `fc1` and `final`: two linear layers in a row are only one linear layer, "
    "and the 128 numbers between them gain nothing."
)
class NoReLU(_Classifier):
    def decide(self, read):
        return self.final(self.fc1(read))


@text_classifier.mistake(
    "The embeddings are added to the attention's output, as a residual connection does. This classifier "
    "reads the attention's output alone."
)
class ResidualAdded(_Classifier):
    def look(self, x, mask):
        output, weights = self.attention(x, mask=mask)
        return x + output, weights


@text_classifier.mistake(
    "The same texts give different logits in two calls: something random, such as a dropout, takes part "
    "in training mode. This classifier has none."
)
class DropoutAdded(_Classifier):
    def decide(self, read):
        return super().decide(F.dropout(read, 0.3, self.training))


@text_classifier.mistake(
    "`fc1` and `final` are missing from the parameters: layers made in `forward` are new in every call, "
    "so they never learn. Make them once, in the constructor."
)
class LayersMadeInForward(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, attention, positional)
        del self.fc1, self.final
        self.num_classes = num_classes

    def decide(self, read):
        fc1, final = nn.Linear(read.shape[-1], 128), nn.Linear(128, self.num_classes)
        return final(F.relu(fc1(read)))


@text_classifier.mistake(
    "The attention's parameters are missing from the classifier's: a layer in a plain list is not "
    "registered, and no optimizer would train it. Keep it under the name `attention`."
)
class AttentionNotRegistered(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, None, positional)
        self.held = [attention]

    def look(self, x, mask):
        return self.held[0](x, mask=mask)


@text_classifier.mistake(
    "`attend` returns the attention's output, (B, T, E). Return the second result of the attention, the "
    "weights: (B, T, T)."
)
class AttendReturnsTheOutput(_Classifier):
    def attend(self, input_ids, mask=None):
        return self.look(self.embed(input_ids), mask)[0]


@text_classifier.mistake(
    "The logits are right, but `attend` does not pass the mask to the attention: it shows weight on "
    "padding that the classifier never sees."
)
class AttendWithoutTheMask(_Classifier):
    def attend(self, input_ids, mask=None):
        return super().attend(input_ids)


@text_classifier.mistake(
    "The logits are right, but `attend` leaves out `positional`, so it shows weights that the classifier "
    "does not use. Embed the text in the same way in `forward` and `attend`."
)
class AttendWithoutPositions(_Classifier):
    def attend(self, input_ids, mask=None):
        return self.look(self.embedding(input_ids), mask)[1]


add_causes(
    text_classifier,
    _Classifier,
    {
        "the maximum over all positions were read": {"read": lambda self, output: output.amax(dim=1)},
        "the ReLU came after `final`": {"decide": lambda self, read: F.relu(self.final(self.fc1(read)))},
        "there were a second ReLU after `final`": {
            "decide": lambda self, read: F.relu(_Classifier.decide(self, read))
        },
        "the log-softmax of the logits were returned": {
            "decide": lambda self, read: F.log_softmax(_Classifier.decide(self, read), dim=-1)
        },
    },
)
