"""The mistakes that the grader can name in `PositionalEncoding`."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from .positional_encoding import _Encoding, positional_encoding


@positional_encoding.mistake(
    "`pe` is a parameter, so an optimizer trains it, and it is counted as one. The table is fixed: "
    "register it as a buffer."
)
class a_parameter(_Encoding):
    def keep(self, table):
        self.pe = nn.Parameter(table)


@positional_encoding.mistake(
    "`buffers()` lists no `pe`: a plain attribute (or a buffer of another name) stays behind when the "
    "module moves to another device or dtype. Register the table as a buffer called `pe`."
)
class a_plain_attribute(_Encoding):
    def keep(self, table):
        self.pe = table


@positional_encoding.mistake(
    "`state_dict()` is not empty: every checkpoint would contain the table, and a model with another "
    "`max_len` could not load it. Register the buffer as one that is not persistent."
)
class saved_in_state_dict(_Encoding):
    def keep(self, table):
        self.register_buffer("pe", table)


@positional_encoding.mistake(
    "All tokens of a sentence get the same position, that of their sentence in the batch. x is (B, T, E): "
    "the positions run along its second dimension, and row t of `pe` goes to token t."
)
class position_in_the_batch(_Encoding):
    def add(self, x):
        # Over the end of the table, so that it goes on wherever the batch is larger.
        return x + self.pe[torch.arange(x.shape[0]) % len(self.pe)].unsqueeze(1)


@positional_encoding.mistake(
    "A text longer than `max_len` is silently cut: it loses its last tokens. Raise a ValueError whose "
    "message contains both numbers, T and `max_len`."
)
class too_long_is_cut(_Encoding):
    def forward(self, x):
        return self.add(x[:, : len(self.pe)])


@positional_encoding.mistake(
    "A text longer than `max_len` raises torch's own error, or is broadcast if `max_len` is 1. Test T "
    "before you add, and raise a ValueError whose message contains both numbers, T and `max_len`."
)
class not_refused(_Encoding):
    def refuse(self, x):
        pass


@positional_encoding.mistake(
    "A text shorter than `max_len` fails, or gets longer: you add all `max_len` rows of the table, and x "
    "has only T tokens. Take the first T rows of the table at each call."
)
class whole_table(_Encoding):
    def add(self, x):
        return x + self.pe


@positional_encoding.mistake(
    "You add the last rows of the table, not the first, so the same word at the start of a text gets "
    "another position when the text gets longer. Token 0 gets row 0."
)
class counted_from_the_end(_Encoding):
    def add(self, x):
        return x + self.pe[len(self.pe) - x.shape[1] :]


@positional_encoding.mistake(
    "Every token gets the same row of the table, that of the last one: an index picks one row, a slice "
    "picks many. Each of the T tokens needs a row of its own."
)
class one_row_for_all(_Encoding):
    def add(self, x):
        return x + self.pe[x.shape[1] - 1]


@positional_encoding.mistake(
    "You return the table alone: the words are gone, and every sentence looks the same. Add the rows of "
    "the table to x and return the sum."
)
class words_forgotten(_Encoding):
    def add(self, x):
        return self.pe[: x.shape[1]].expand_as(x)


@positional_encoding.mistake(
    "The positions are added in place: the caller's tensor changes, and a second call adds them again. "
    "Return a new tensor."
)
class added_in_place(_Encoding):
    def add(self, x):
        x += self.pe[: x.shape[1]]
        return x


@positional_encoding.mistake(
    "Some numbers are 0, and different ones at each call: the module contains a dropout, which works in "
    "training mode. The paper's model applies dropout to what this module returns; the module itself "
    "only adds the positions."
)
class drops_out(_Encoding):
    def add(self, x):
        return F.dropout(x + self.pe[: x.shape[1]], 0.1, self.training)


@positional_encoding.mistake(
    "x is multiplied by the square root of its width before the positions are added. The paper's model "
    "does that in its embedding; this module only adds the positions."
)
class embeddings_scaled(_Encoding):
    def add(self, x):
        return x * math.sqrt(x.shape[-1]) + self.pe[: x.shape[1]]
