"""More mistakes in `TextClassifier`: its last layers, how it is made, and what `attend` returns."""

import torch.nn as nn
import torch.nn.functional as F

from .text_classifier import text_classifier
from .text_classifier_alternatives import _Classifier


@text_classifier.mistake(
    "There is no ReLU between `fc1` and `final`: two linear layers in a row are only one linear layer, "
    "and the 128 numbers between them gain nothing."
)
class NoReLU(_Classifier):
    def decide(self, read):
        return self.final(self.fc1(read))


@text_classifier.mistake(
    "The ReLU comes after `final`, so no logit is ever negative, and a class whose logit is 0 gets no "
    "gradient. It belongs between `fc1` and `final`."
)
class ReLUAtTheEnd(_Classifier):
    def decide(self, read):
        return F.relu(self.final(self.fc1(read)))


@text_classifier.mistake(
    "There is a second ReLU after `final`, so no logit is ever negative, and a class whose logit is 0 "
    "gets no gradient. Keep only the one between `fc1` and `final`."
)
class ReLUTwice(_Classifier):
    def decide(self, read):
        return F.relu(super().decide(read))


@text_classifier.mistake(
    "`fc1` is only as wide as the embedding. It maps each text's vector to 128 numbers, whatever "
    "`embed_dim` is, and `final` takes these."
)
class NarrowInTheMiddle(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        self.width = embed_dim
        super().__init__(vocab_size, embed_dim, num_classes, attention, positional)


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
    "`forward` returns the weights as well as the logits. Return the logits alone, (B, C); `attend` "
    "returns the weights."
)
class WeightsBesideTheLogits(_Classifier):
    def forward(self, input_ids, mask=None):
        output, weights = self.look(self.embed(input_ids), mask)
        return self.decide(self.read(output)), weights


@text_classifier.mistake(
    "`attend` returns the attention's output, (B, T, E). Return the second result of the attention, the "
    "weights: (B, T, T)."
)
class AttendReturnsTheOutput(_Classifier):
    def attend(self, input_ids, mask=None):
        return self.look(self.embed(input_ids), mask)[0]


@text_classifier.mistake(
    "`attend` returns both results of the attention. Return the weights alone, (B, T, T)."
)
class AttendReturnsBoth(_Classifier):
    def attend(self, input_ids, mask=None):
        return self.look(self.embed(input_ids), mask)


@text_classifier.mistake(
    "`attend` returns the weights of the first token only. Return those of every token, (B, T, T), as the"
    " attention does."
)
class AttendReturnsTheFirstRow(_Classifier):
    def attend(self, input_ids, mask=None):
        return super().attend(input_ids, mask)[:, 0]


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
