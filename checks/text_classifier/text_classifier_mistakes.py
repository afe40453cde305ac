"""The mistakes that the grader can name in `TextClassifier`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import add_mistakes

from .text_classifier import _Classifier, text_classifier


class LayersMadeInForward(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, attention, positional)
        del self.fc1, self.final
        self.num_classes = num_classes

    def decide(self, read):
        fc1, final = nn.Linear(read.shape[-1], 128), nn.Linear(128, self.num_classes)
        return final(F.relu(fc1(read)))


class AttentionNotRegistered(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, None, positional)
        self.held = [attention]

    def look(self, x, mask):
        return self.held[0](x, mask=mask)


add_mistakes(
    text_classifier,
    _Classifier,
    AttendsToPadding=(
        "The mask is not passed to the attention: every text attends to its padding, so its logits depend on "
        "the other texts of its batch. Pass the mask in `forward` and in `attend`.",
        {"look": lambda self, x, mask: self.attention(x)},
    ),
    ForwardAttendsToPadding=(
        "`attend` is right, but `forward` does not pass the mask to the attention: the logits of a text "
        "change with its padding. Pass the mask there too.",
        {"forward": lambda self, input_ids, mask=None: _Classifier.forward(self, input_ids)},
    ),
    MaskAsKey=(
        "The attention gets the mask as its key: the second argument of a layer is `key`, and you pass the "
        "mask by position. Pass it by name.",
        {"look": lambda self, x, mask: self.attention(x, mask)},
    ),
    MakesItsOwnMask=(
        "You ignore `mask` and make a mask of your own from the ids that are 0. The caller decides what is "
        "visible: pass on the mask you were given, or None.",
        {"seen": lambda self, input_ids, mask: (input_ids != 0)[:, None]},
    ),
    MakesUpAMissingMask=(
        "If no mask is given, you make one from the ids that are 0. Without a mask every token is visible: "
        "pass on None.",
        {"seen": lambda self, input_ids, mask: (input_ids != 0)[:, None] if mask is None else mask},
    ),
    MaskTurnedRound=(
        "The mask is inverted on its way: the attention sees the padding and not the tokens. The layers read "
        "True as “may attend”, as `collate` makes it: pass it on unchanged.",
        {"look": lambda self, x, mask: self.attention(x, mask=None if mask is None else ~mask)},
    ),
    MeanOverThePlaces=(
        "The logits come from the mean over all positions, padding included. The classifier reads the first "
        "token only, which attention has filled with what it needs from the others.",
        {"read": lambda self, output: output.mean(dim=1)},
    ),
    ReadsTheLastToken=(
        "You read the last position, which is padding in most texts of a batch. Read the first token, which "
        "every text has.",
        {"read": lambda self, output: output[:, -1]},
    ),
    ReadsTheEmbedding=(
        "You read the first token before the attention, so the logits depend on its embedding alone. Read it "
        "from the attention's output.",
        {"forward": lambda self, input_ids, mask=None: self.decide(self.embed(input_ids)[:, 0])},
    ),
    SoftmaxOnTheLogits=(
        "You return probabilities: each row sums to 1. Return logits. The cross-entropy contains a softmax, "
        "and a second one flattens the gradients.",
        {"decide": lambda self, read: torch.softmax(_Classifier.decide(self, read), dim=-1)},
    ),
    PaddingLearns=(
        "The embedding of id 0 gets a gradient, so the padding would be trained like a word. Tell "
        "`nn.Embedding` that 0 is its padding index.",
        {"padding_idx": None},
    ),
    PositionsIgnored=(
        "`positional` has no effect: you keep it and never call it. If it is given, pass the embeddings "
        "through it before the attention.",
        {"place": lambda self, x: x},
    ),
    PositionsAfterAttention=(
        "The positions come after the attention, which has already mixed the tokens: the weights cannot "
        "depend on order. Pass the embeddings through `positional` before the attention.",
        {"place": lambda self, x: x, "after": lambda self, x, output: _Classifier.place(self, output)},
    ),
    PositionsTwice=(
        "`positional` is applied twice. Apply it once: its result already holds the words and their "
        "positions.",
        {"place": lambda self, x: _Classifier.place(self, _Classifier.place(self, x))},
    ),
    PositionsAddedToTheWords=(
        "You add the result of `positional` to the embeddings, but it already holds them, so the words count "
        "twice. Use the result in their place.",
        {"place": lambda self, x: x if self.positional is None else x + self.positional(x)},
    ),
    EmbeddingsScaled=(
        "The embeddings are multiplied by the square root of their width. The paper's model does that; this "
        "classifier uses them as they are.",
        {"place": lambda self, x: _Classifier.place(self, x * math.sqrt(x.shape[-1]))},
    ),
    NoReLU=(
        "There is no ReLU between `fc1` and `final`: two linear layers in a row are only one linear layer, "
        "and the 128 numbers between them gain nothing.",
        {"decide": lambda self, read: self.final(self.fc1(read))},
    ),
    ResidualAdded=(
        "The embeddings are added to the attention's output, as a residual connection does. This classifier "
        "reads the attention's output alone.",
        {"after": lambda self, x, output: x + output},
    ),
    DropoutAdded=(
        "The same texts give different logits in two calls: something random, such as a dropout, takes part "
        "in training mode. This classifier has none.",
        {"decide": lambda self, read: _Classifier.decide(self, F.dropout(read, 0.3, self.training))},
    ),
    LayersMadeInForward=(
        "`fc1` and `final` are missing from the parameters: layers made in `forward` are new in every call, "
        "so they never learn. Make them once, in the constructor.",
        LayersMadeInForward,
    ),
    AttentionNotRegistered=(
        "The attention's parameters are missing from the classifier's: a layer in a plain list is not "
        "registered, and no optimizer would train it. Keep it under the name `attention`.",
        AttentionNotRegistered,
    ),
    AttendReturnsTheOutput=(
        "`attend` returns the attention's output, (B, T, E). Return the second result of the attention, the "
        "weights: (B, T, T).",
        {"attend": lambda self, input_ids, mask=None: self.look(self.embed(input_ids), mask)[0]},
    ),
    AttendWithoutTheMask=(
        "The logits are right, but `attend` does not pass the mask to the attention: it shows weight on "
        "padding that the classifier never sees.",
        {"attend": lambda self, input_ids, mask=None: _Classifier.attend(self, input_ids)},
    ),
    AttendWithoutPositions=(
        "The logits are right, but `attend` leaves out `positional`, so it shows weights that the classifier "
        "does not use. Embed the text in the same way in `forward` and `attend`.",
        {"attend": lambda self, input_ids, mask=None: self.look(self.embedding(input_ids), mask)[1]},
    ),
)


text_classifier.causes_in_steps(
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
