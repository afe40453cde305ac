"""Broken attention functions for `is_correct`, by family: each has one or two steps of its own.

Every one breaks a sentence of the contract, and by far more than rounding.
"""

_HIDE = "\nif mask is not None:\n    a = a.masked_fill(~mask, -math.inf)\n"
_CLEAR = "\nif mask is not None:\n    b = b.masked_fill(~mask, 0.0)\n"
_SOFTMAX = f"{_HIDE}b = torch.softmax(a, dim=-1){_CLEAR}"
_DEFAULTS = "key = query if key is None else key\nvalue = key if value is None else value"

SCALE = {
    "none": {"scores": "a = query @ key.mT"},
    "the width": {"scores": "a = query @ key.mT / query.shape[-1]"},
    "times the root": {"scores": "a = torch.matmul(query, key.mT) * math.sqrt(query.shape[-1])"},
    "root of the number of keys": {"scores": "a = query @ key.mT / math.sqrt(key.shape[-2])"},
    "root of the value's width": {"scores": "a = query @ key.mT / math.sqrt(value.shape[-1])"},
    "a fixed width": {"scores": "a = query @ key.mT * number ** -0.5"},
}

SOFTMAX = {
    "over the queries": {"weights": f"{_HIDE}b = torch.softmax(a, dim=-2){_CLEAR}"},
    "over the batch": {"weights": f"{_HIDE}b = torch.softmax(a, dim=0){_CLEAR}"},
    "over queries and keys": {"weights": f"{_HIDE}b = a.flatten(-2).softmax(dim=-1).view_as(a){_CLEAR}"},
    "left out": {"weights": f"b = a{_CLEAR}"},
    "one in the denominator": {
        "weights": f"{_HIDE}b = a.exp() / (1 + a.exp().sum(dim=-1, keepdim=True)){_CLEAR}"
    },
    "twice": {"weights": f"{_SOFTMAX}b = b.softmax(dim=-1){_CLEAR}"},
    "squares": {
        "weights": "a = a.square() if mask is None else a.square() * mask\n"
        "b = a / a.sum(dim=-1, keepdim=True).clamp(min=1e-9)"
    },
}

MASK = {
    "ignored": {"weights": "b = torch.softmax(a, dim=-1)"},
    "inverted": {"weights": f"mask = None if mask is None else ~mask{_SOFTMAX}"},
    "after the softmax": {"weights": f"b = torch.softmax(a, dim=-1){_CLEAR}"},
    "not in the output": {"weights": f"e = a.softmax(dim=-1){_SOFTMAX}", "output": "c = e @ value"},
    "scores of zero": {"weights": "b = torch.softmax(a if mask is None else a * mask, dim=-1)"},
    "added": {"weights": "b = torch.softmax(a if mask is None else a + mask, dim=-1)"},
    "weak": {"weights": "b = torch.softmax(a if mask is None else a - 3.0 * ~mask, dim=-1)"},
    "the first sample's": {
        "weights": f"mask = mask[0] if mask is not None and mask.dim() > 2 else mask{_SOFTMAX}"
    },
    "on the queries": {"weights": f"mask = None if mask is None else mask.mT{_SOFTMAX}"},
    "needed": {"weights": "b = a.masked_fill(~mask, -1e9).softmax(dim=-1) * mask"},
}

EMPTY = {
    "NaN": {"weights": f"{_HIDE}b = torch.softmax(a, dim=-1)"},
    "evenly": {
        "weights": "b = torch.softmax(a if mask is None else a.masked_fill(~mask, -1e9), dim=-1)",
    },
    "NaN in the output": {
        "weights": f"{_HIDE}e = torch.softmax(a, dim=-1)\nb = torch.nan_to_num(e)",
        "output": "c = e @ value",
    },
    "mean in the output": {
        "weights": "e = torch.softmax(a if mask is None else a.masked_fill(~mask, -1e9), dim=-1)\n"
        "b = e if mask is None else e * mask",
        "output": "c = e @ value",
    },
    "the first key": {
        "weights": "if mask is not None:\n"
        "    e = torch.arange(a.shape[-1]) == 0\n"
        f"    mask = mask | (e & ~mask.any(dim=-1, keepdim=True)){_SOFTMAX}",
    },
    "no mask for anyone": {
        "weights": f"mask = mask if mask is not None and mask.any(dim=-1).all() else None{_SOFTMAX}",
    },
    "everything zero": {
        "weights": f"{_SOFTMAX}b = b if mask is None else b * mask.any(dim=-1).all()",
    },
}

INPUTS = {
    "no key": {"defaults": "key = query\nvalue = key if value is None else value"},
    "no value": {"defaults": "key = query if key is None else key\nvalue = key"},
    "value is the query": {
        "defaults": "key = query if key is None else key\nvalue = query if value is None else value"
    },
    "key and value swapped": {"defaults": f"{_DEFAULTS}\nkey, value = value, key"},
    "as many keys as queries": {"output": "b = b.view(*query.shape[:-1], query.shape[-2])\nc = b @ value"},
    "values as wide as queries": {"output": "c = (b @ value).view(query.shape)"},
    "keys cut off": {
        "defaults": f"{_DEFAULTS}\ni = query.shape[-2]\nkey, value = key[..., :i, :], value[..., :i, :]"
    },
    "weights transposed": {"output": "c = b.mT @ value"},
    "scores returned": {"output": "c = b @ value\nb = a"},
    "output of other weights": {"output": "c = b.square() @ value"},
}

COMPANY = {
    "the neighbour's values": {"output": "c = b @ value.roll(1, 0)"},
    "the mean of the batch": {"output": "c = b @ (value + value.mean(dim=0, keepdim=True)) / 2"},
    "the last key left out": {
        "weights": "e = torch.arange(a.shape[-1]) < max(1, a.shape[-1] - 1)\n"
        f"mask = e if mask is None else mask & e{_SOFTMAX}",
    },
    "the past only": {
        "weights": "e = torch.ones_like(a, dtype=torch.bool).tril()\n"
        f"mask = e if mask is None else mask & e{_SOFTMAX}"
    },
    "nearer is more": {
        "weights": "e = torch.arange(a.shape[-2]).unsqueeze(-1) - torch.arange(a.shape[-1])\n"
        f"a = a - 0.5 * e.abs(){_SOFTMAX}",
    },
    "dropout": {"output": "b = F.dropout(b, 0.2)\nc = b @ value"},
    "the query added": {"output": "c = b @ value\nc = c + query if c.shape == query.shape else c"},
}

TENSORS = {
    "no gradient to the scores": {"output": "c = b.detach() @ value\nb = b.detach()"},
    "no gradient to the key": {"defaults": f"{_DEFAULTS}\nkey = key.detach()"},
    "no gradient at all": {"output": "c = (b @ value).detach()\nb = b.detach()"},
    "NaN gradients": {
        "weights": "e = torch.zeros_like(a)\n"
        f"a = a if mask is None else a + e.masked_fill(~mask, -math.inf)\nb = a.softmax(dim=-1){_CLEAR}"
    },
    "float32": {"output": "b = b.float()\nc = b @ value.float()"},
    "float64": {"output": "b = b.double()\nc = b @ value.double()"},
    "the query changed": {
        "defaults": f"{_DEFAULTS}\nquery /= math.sqrt(query.shape[-1])",
        "scores": "a = query @ key.mT",
    },
    "the mask changed": {
        "weights": "if mask is not None:\n    mask.logical_not_()\n    a = a.masked_fill(mask, -math.inf)\n"
        "b = a.softmax(dim=-1)\nb = b if mask is None else b.masked_fill(mask, 0.0)"
    },
}

FAMILIES = {
    "scale": SCALE,
    "softmax": SOFTMAX,
    "mask": MASK,
    "empty": EMPTY,
    "inputs": INPUTS,
    "company": COMPANY,
    "tensors": TENSORS,
}
