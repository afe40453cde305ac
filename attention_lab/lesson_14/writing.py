"""`write` and `answer`: a model's answer token by token; `token_bars`: the tokens that were likeliest."""

from dataclasses import dataclass

import matplotlib
import matplotlib.pyplot as plt
import torch

from attention_lab.lesson_14.given import given_sample
from attention_lab.plots import ACCENT, INK, PALE, STYLE, number_text

SHOWN = 5  # tokens of a picture with bars


@dataclass(frozen=True)
class Step:
    """One token of an answer."""

    token: str
    text: str  # the whole answer so far
    likeliest: dict  # the five most likely tokens here, each with its share at temperature 1


def write(
    model, prompt, sample=given_sample, *, temperature=0.0, top_p=1.0, most=80, seed=0, chat=True, cached=True
):
    """Continue a prompt, a token at a time.

    Parameters
    ----------
    model
        A `LanguageModel`.
    prompt
        The text; with `chat` it is put into the file's template for conversations.
    sample
        The exercise's function.
    temperature, top_p
        Passed on to `sample`.
    most
        The most tokens that are written; fewer if the model ends its answer.
    seed
        Of the generator that `sample` gets.
    cached
        Keep keys and values; otherwise the whole text is read again for each token.

    Yields
    ------
    Step
        As soon as its token is there.

    Raises
    ------
    ValueError
        If the prompt is empty, too long, or has a character for which there is no token.
    """
    text, dice = model.ids_of(prompt, chat), torch.Generator().manual_seed(seed)
    new, cache, written = text, None, []
    for _ in range(min(most, model.longest - text.shape[1])):
        with torch.inference_mode():  # in here: a generator must not leave it on for its caller
            logits, cache = model(new if cached else text, cache if cached else None, last=True)
            logits = logits[:, -1].float()  # (1, V)
            token = sample(logits, temperature=temperature, top_p=top_p, generator=dice)  # (1,)
        if token.item() == model.end:
            return
        new, text = token[:, None], torch.cat([text, token[:, None]], dim=1)
        written.append(token.item())
        # The last bytes of a character can be in the next token.
        so_far = model.tokenizer.decode(written).removesuffix("\ufffd")
        yield Step(token_name(model, token.item()), so_far, likeliest(model, logits[0]))


def likeliest(model, logits):
    """The five most likely tokens with their shares, the first one first."""
    shares, tokens = torch.softmax(logits, dim=-1).topk(SHOWN)
    names = [token_name(model, token) for token in tokens.tolist()]
    return dict(zip(names, shares.tolist(), strict=True))


def token_name(model, token):
    """A token as one can see it: a space is ␣, a new line ⏎."""
    return model.tokenizer.decode([token], skip_special_tokens=False).replace(" ", "␣").replace("\n", "⏎")


def answer(model, prompt, sample=given_sample, **options):
    """Print an answer while it is written, and return it; `options` are those of `write`.

    The kernel's interrupt button stops it at once; what is written so far is returned.
    """
    text = ""
    try:
        for step in write(model, prompt, sample, **options):
            print(step.text[len(text) :], end="", flush=True)
            text = step.text
    except KeyboardInterrupt:
        print(" (stopped)", end="")
    print()
    return text


@matplotlib.rc_context(STYLE)
def token_bars(likeliest, chosen=None, ax=None):
    """Draw the likeliest next tokens as bars, the chosen one dark. Returns the Axes.

    likeliest: {token: share}, as in a `Step`      chosen: the token that was drawn; by default the first
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    chosen = next(iter(likeliest)) if chosen is None else chosen
    bars = ax.barh(range(SHOWN), likeliest.values(), height=0.7, edgecolor=INK, linewidth=0.8)
    for place, (token, share) in enumerate(likeliest.items()):
        bars[place].set_facecolor(ACCENT if token == chosen else PALE)
        ax.annotate(number_text(share), (share, place), (4, 0), textcoords="offset points", va="center")
    ax.set_yticks(range(SHOWN), likeliest, parse_math=False)
    ax.set(xlim=(0, 1.12), xticks=[0, 0.25, 0.5, 0.75, 1], xlabel="share of the softmax", ylabel="next token")
    ax.invert_yaxis()
    return ax
