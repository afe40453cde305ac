"""Right answers to `TextClassifier`, written in other ways."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from .text_classifier import text_classifier


class _Classifier(nn.Module):
    """A correct layer; each mistake, and each correct answer, changes a part of it."""

    width = 128
    padding_idx = 0

    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=self.padding_idx)
        self.attention = attention
        self.positional = positional
        self.fc1 = nn.Linear(embed_dim, self.width)
        self.final = nn.Linear(self.width, num_classes)

    def embed(self, input_ids):
        x = self.embedding(input_ids)
        return x if self.positional is None else self.positional(x)

    def look(self, x, mask):
        return self.attention(x, mask=mask)

    def read(self, output):
        return output[:, 0]

    def decide(self, read):
        return self.final(F.relu(self.fc1(read)))

    def forward(self, input_ids, mask=None):
        return self.decide(self.read(self.look(self.embed(input_ids), mask)[0]))

    def attend(self, input_ids, mask=None):
        return self.look(self.embed(input_ids), mask)[1]


@text_classifier.accepted_alternative
class EverythingNamed(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, attention)
        self.positional = nn.Identity() if positional is None else positional
        self.relu = nn.ReLU()

    def forward(self, input_ids, mask=None):
        x = self.positional(self.embedding(input_ids))
        output, weights = self.attention(query=x, key=x, value=x, mask=mask)
        batch, length, width = output.shape
        first = output.reshape(batch, length * width)[:, :width]
        return self.final(self.relu(self.fc1(first)))

    def attend(self, input_ids, mask=None):
        x = self.positional(self.embedding(input_ids))
        return self.attention(query=x, mask=mask)[-1]


@text_classifier.accepted_alternative(
    "Reads the first position at the very end: all positions are classified, and one is kept. This is "
    "good if you need a prediction for each token later, and wasteful here. (embed is your embeddings "
    "with their positions.)"
)
class AllPlacesThenTheFirst(_Classifier):
    def forward(self, input_ids, mask=None):
        output, _ = self.attention(self.embed(input_ids), None, None, mask)
        return self.final(torch.relu(self.fc1(output)))[:, 0, :]


@text_classifier.accepted_alternative(
    "Keeps the weights of the last call, so that a picture needs no second pass. This is convenient for a"
    " plot; in a model that is saved or run in parallel, state between calls causes trouble."
)
class RemembersItsWeights(_Classifier):
    def forward(self, input_ids, mask=None):
        output, self.weights = self.look(self.embed(input_ids), mask)
        return self.final(self.fc1(output.select(1, 0)).clamp(min=0))

    def attend(self, input_ids, mask=None):
        self(input_ids, mask)
        return self.weights


@text_classifier.accepted_alternative
class OnlyTheFirstQueryAsks(_Classifier):
    def forward(self, input_ids, mask=None):
        x = self.embed(input_ids)
        output, _ = self.attention(x[:, :1], x, x, mask=mask)
        return self.decide(output.squeeze(1))


@text_classifier.accepted_alternative
class AddsPositionsFromWithin(_Classifier):
    def run(self, input_ids, mask):
        x = F.embedding(input_ids, self.embedding.weight, padding_idx=0)
        if self.positional:
            x = self.positional(x)
        kwargs = {} if mask is None else {"mask": mask}
        output, weights = self.attention(x, **kwargs)
        hidden = F.linear(output[:, 0, :], self.fc1.weight, self.fc1.bias)
        return self.final(hidden * (hidden > 0)), weights

    def forward(self, input_ids, mask=None):
        return self.run(input_ids, mask)[0]

    def attend(self, input_ids, mask=None):
        with torch.no_grad():
            return self.run(input_ids, mask)[1]
