"""Functions for the experiments of lesson 6: a slow, obvious split, and three ways to reshape wrongly."""

import torch
import torch.nn.functional as F


def heads_by_hand(x, num_heads):
    """Cut the columns of each token into `num_heads` blocks, head by head. Slow, and easy to trust.

    x: (B, T, E)      returns: (B, H, T, D) with D = E / H
    """
    size = x.shape[-1] // num_heads
    return torch.stack([x[:, :, head * size : (head + 1) * size] for head in range(num_heads)], dim=1)


def lazy_split(x, num_heads):
    """(B, T, E) -> (B, H, T, D) by one view: the tempting line."""
    return x.view(x.shape[0], num_heads, x.shape[1], -1)


def lazy_merge(x):
    """(B, H, T, D) -> (B, T, H * D) by one reshape, the inverse of `lazy_split`."""
    return x.reshape(x.shape[0], x.shape[2], -1)


def interleaved_split(x, num_heads):
    """(B, T, E) -> (B, H, T, D), but head h gets every H-th number of a token."""
    return x.view(x.shape[0], x.shape[1], -1, num_heads).permute(0, 3, 1, 2)


def interleaved_merge(x):
    """(B, H, T, D) -> (B, T, H * D), the inverse of `interleaved_split`."""
    return x.permute(0, 2, 3, 1).flatten(2)


def who_moves(split, merge, x):
    """Replace one token at a time, and see which outputs of causal attention with two heads move.

    x: (1, T, E)      returns: bool (T, T), row i: token i was replaced, column j: output j has moved
    """
    rows = []
    for replaced in range(x.shape[1]):
        outputs = []
        for sentence in (x, x.index_fill(1, torch.tensor(replaced), 2.0)):
            heads = split(sentence, 2)  # (B, H, T, D)
            outputs.append(merge(F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)))
        rows.append((outputs[1] - outputs[0]).abs().amax(dim=-1)[0] > 1e-6)
    return torch.stack(rows)


def compare_ways(ways, tokens, words):
    """Print who moves for each way, and whether it passes three tests. ways: name -> (split, merge)."""
    moves = {name: who_moves(split, merge, tokens) for name, (split, merge) in ways.items()}
    print("●: this output moves", *(f"{name:^12}" for name in ways), sep="  ")
    for row, word in enumerate(words):
        marks = (" ".join("●" if moved else "·" for moved in moves[name][row]) for name in ways)
        print(f"{'replace ' + word:<19}", *(f"{line:^12}" for line in marks), sep="  ")
    print()
    backward = torch.ones(len(words), len(words), dtype=torch.bool).tril(-1)  # an output before the token
    verdicts = {
        "round trip": lambda name, split, merge: torch.equal(merge(split(tokens, 2)), tokens),
        "leak": lambda name, split, merge: not moves[name][backward].any(),
        "reach": lambda name, split, merge: moves[name][~backward].all(),
    }
    for test, passes in verdicts.items():
        marks = ("✓" if passes(name, *pair) else "✗" for name, pair in ways.items())
        print(f"{test:<19}", *(f"{mark:^12}" for mark in marks), sep="  ")


def copy_heads(naive, efficient):
    """Copy the parameters of lesson 5's layer into the efficient one: three stacks, and the output."""
    with torch.no_grad():
        for name in ("query", "key", "value"):
            small, large = [getattr(head, name) for head in naive.heads], getattr(efficient, name)
            large.weight.copy_(torch.cat([layer.weight for layer in small]))  # head 0 on top
            if large.bias is not None:
                large.bias.copy_(torch.cat([layer.bias for layer in small]))
        efficient.output.load_state_dict(naive.output.state_dict())


def compare_layers(naive, efficient, sentences, lengths):
    """Print how far apart the results of two layers are, with four masks.

    sentences: (B, T, E)      lengths: how many tokens of each sentence are no padding, (B,)
    """
    places = torch.arange(sentences.shape[1])  # (T,)
    causal = places <= places[:, None]  # (T_q, T_k)
    padding = (places < lengths[:, None])[:, None]  # (B, 1, T_k)
    masks = {"no mask": None, "causal": causal, "padding": padding, "both": causal & padding}
    for name, mask in masks.items():
        results = zip(naive(sentences, mask=mask), efficient(sentences, mask=mask), strict=True)
        output, weights = ((one - other).abs().max().item() for one, other in results)
        print(f"{name:>8}: largest difference {output:.6f} in the output, {weights:.6f} in the weights")
