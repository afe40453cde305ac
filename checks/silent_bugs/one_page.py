"""Lesson 12 on one page: a function that tells right attention from wrong."""

import math

import torch


def is_correct(attention):
    def expected(query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        scores = query @ key.mT / math.sqrt(query.shape[-1])  # (B, T_q, T_k)
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            # A finite lowest score: a row of nothing but -inf would be NaN, forward and backward.
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
        return weights @ value, weights  # (B, T_q, d_v), (B, T_q, T_k)

    def close(one, two, atol):
        alike = one is not None and two is not None and one.shape == two.shape and one.dtype == two.dtype
        return alike and torch.allclose(one, two, rtol=1e-4, atol=atol)

    def agrees(*given, mask=None):
        """The same results, the same gradients, and arguments that stay as they are."""
        results, gradients, arguments = [], [], []
        for function in (expected, attention):
            tensors = [tensor.clone().requires_grad_() for tensor in given]
            its_mask = None if mask is None else mask.clone()
            output, weights = function(*tensors, mask=its_mask)
            (output.square().sum() + weights.square().sum()).backward()
            results.append((output, weights))
            gradients.append([tensor.grad for tensor in tensors])
            arguments.append([*tensors, *([] if mask is None else [its_mask])])
        return (
            all(close(one, two, atol=1e-5) for one, two in zip(*results, strict=True))
            and all(close(one, two, atol=1e-4) for one, two in zip(*gradients, strict=True))
            and all(torch.equal(one, two) for one, two in zip(*arguments, strict=True))
        )

    B, T_q, T_k, d, d_v = 3, 4, 5, 6, 2  # all different: nothing fits by accident
    random = torch.Generator().manual_seed(0)
    padding = torch.arange(T_k) < torch.tensor([[[2]], [[5]], [[0]]])  # (B, 1, T_k): the last is empty
    each = torch.rand(B, T_q, T_k, generator=random) < 0.6
    each[1, 2] = False  # a query with nothing to attend to
    causal = torch.ones(T_q, T_q, dtype=torch.bool).tril()

    def drawn(dtype):
        """Query, key and value."""
        shapes = ((B, T_q, d), (B, T_k, d), (B, T_k, d_v))
        return [torch.randn(shape, generator=random, dtype=dtype) for shape in shapes]

    query, key, value = drawn(torch.float32)
    # The call that finds most of the faults is the first.
    calls = [((query, key, value), mask) for mask in (each, padding, None)]
    calls += [((query, key), each[0]), ((query,), causal), ((query,), None)]
    calls += [(drawn(torch.float64), padding)]  # enough to see a wrong dtype
    try:
        return all(agrees(*given, mask=mask) for given, mask in calls)
    except Exception:
        return False
