"""The visible tests of lesson 1's answers. Each example is small enough to check by hand."""

import torch

from attention_lab.examples import example, same

KEYS = torch.tensor([[1.0, 1.0], [-1.0, 2.0], [-1.0, -1.0], [3.0, 0.0]])  # (T, d): a, b, c and z


def test_softmax(answer):
    rows = torch.tensor([[1.0, 2.0, 5.0], [6.0, 1.0, 1.0], [3.0, 3.0, 2.0]])  # each sums to 8
    example("each row by itself, in eighths", answer, rows.log(), gives=rows / 8)
    large = torch.tensor([[[1000.0, 1001.0]], [[0.0, 1.0]]])  # (2, 1, 2): a batch
    alike = torch.tensor([[[0.2689, 0.7311]], [[0.2689, 0.7311]]])
    example("1000 and 1001 have the weights of 0 and 1", answer, large, gives=alike)
    example("one row, ln 1, ln 2, ln 5", answer, rows[0].log(), gives=[1 / 8, 2 / 8, 5 / 8])


def test_attention_scores(answer):
    query = torch.tensor([[2.0, 1.0], [1.0, 0.0]])  # (T_q, d)
    table = torch.tensor([[3.0, 0.0, -3.0, 6.0], [1.0, -1.0, -1.0, 3.0]])  # (T_q, T_k)
    example("two queries, keys a and b", answer, query, KEYS[:2], gives=table[:, :2])
    example("two queries, four keys", answer, query, KEYS, gives=table)
    queries, keys = torch.stack([query, query.flip(0)]), torch.stack([KEYS[:2], KEYS[2:]])  # (B, ...)
    tables = torch.stack([table[:, :2], table[:, 2:].flip(0)])
    example("a batch: each sentence has its own table", answer, queries, keys, gives=tables)
    looped = torch.stack([KEYS @ each for each in query])
    same("the same as a loop over the queries", answer(query, KEYS), looped)


def test_dot_product_attention(answer):
    query = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])  # (T_q, d)
    key = torch.tensor([[1.0, 6.0], [2.0, 1 / 2], [5.0, 1 / 5]]).log()  # (T_k, d)
    value = torch.tensor([[8.0, 0.0, 0.0, 8.0], [0.0, 8.0, 0.0, 8.0], [0.0, 0.0, 8.0, 8.0]])  # (T_k, d_v)
    shares = torch.tensor([[1 / 8, 2 / 8, 5 / 8], [6 / 8, 1 / 8, 1 / 8], [1 / 3, 1 / 3, 1 / 3]])
    example("by hand, the weights", answer, query, key, value, gives=(..., shares), gradients=False)
    example("by hand, the output", answer, query, key, value, gives=(shares @ value, shares))
    example("without a value, the key is mixed", answer, query, key, gives=(shares @ key, shares))
    far, itself = 100 * torch.eye(3), torch.eye(3)  # so far apart that each fits only itself
    example("without a key, the query asks itself", answer, far, value=value, gives=(value, itself))
    batch = [torch.stack([part, part.flip(0)]) for part in (query[:2], key, value)]  # the second backwards
    weights = torch.stack([shares[:2], shares[:2].flip(0, 1)])  # (B, T_q, T_k)
    example("a batch of two sentences", answer, *batch, gives=(weights @ batch[2], weights))


def test_project(answer):
    names = ("query", "key", "value")
    x = torch.tensor([[1.0, 2.0], [0.0, 1.0]])  # (T, E)
    w_query = torch.tensor([[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]])  # (E, 3)
    w_key = torch.tensor([[1.0, 2.0], [3.0, 4.0]])  # (E, 2)
    w_value = torch.tensor([[1.0, 1.0, 0.0, 2.0], [0.0, 2.0, 1.0, 0.0]])  # (E, 4)
    query, key = torch.tensor([[1.0, 2.0, 5.0], [0.0, 1.0, 1.0]]), torch.tensor([[7.0, 10.0], [3.0, 4.0]])
    value = torch.tensor([[1.0, 5.0, 2.0, 2.0], [0.0, 2.0, 1.0, 0.0]])
    narrow = [weight[:, -2:] for weight in (w_query, w_key, w_value)]  # their last two columns, (E, 2)
    last_two = (query[:, -2:], key, value[:, -2:])
    example("all three 2 wide", answer, x, *narrow, gives=last_two, names=names)
    example("3, 2 and 4 wide", answer, x, w_query, w_key, w_value, gives=(query, key, value), names=names)
    sentences = torch.stack([x, x.flip(0)])  # (B, T, E), the second one backwards
    both = tuple(torch.stack([each, each.flip(0)]) for each in (query, key, value))
    example("a batch of two", answer, sentences, w_query, w_key, w_value, gives=both, names=names)
