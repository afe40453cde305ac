#!/usr/bin/env bash
# tokenizers: an added token takes the id of a word
# Guess: add_tokens gives a new token an id that nothing has yet.
# What happens: in a vocabulary whose ids start at 1 (0 left free for padding), the new token gets the last
#   word's id; the word then decodes as the new token.
# Versions: tokenizers 0.23.3.
# Why: AddedVocabulary.add_tokens starts at model.get_vocab_size(), for WordLevel the number of entries, not
#   the largest id plus one (tokenizers/src/tokenizer/added_vocabulary.rs; issue
#   huggingface/tokenizers#523).
# Instead: number the vocabulary from 0 without gaps, padding included; check len(set(vocab.values())).
# Hurts: students who build a word vocabulary by hand and keep 0 for padding: two words share one embedding.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile tokenizers==0.23.3
cat > run.py <<'PYTHON'
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

tokenizer = Tokenizer(WordLevel({"[UNK]": 1, "the": 2, "cat": 3}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = WhitespaceSplit()
print("added:", tokenizer.add_tokens(["dog"]))
ids = tokenizer.encode("the cat the dog").ids
print("ids:", ids)
print("decoded:", tokenizer.decode(ids))
PYTHON
cat > expected.txt <<'EXPECTED'
added: 1
ids: [2, 3, 2, 3]
decoded: the dog the dog
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: tokenizers 0.23.3"
echo "behaviour: with ids 1 to 3 taken, the added token gets 3"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "tokenizers-added-id: this behaviour has changed, see the difference above." >&2
    exit 1
fi
