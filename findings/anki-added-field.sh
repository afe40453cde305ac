#!/usr/bin/env bash
# genanki and Anki: a deck with one more field corrects none of the old cards
# Guess: with the same model id, deck id and note guids, an import updates notes and note type.
# What happens: with a field added, Anki makes a second note type M+ for new notes; the corrected old note
#   keeps its mistake and is only logged as conflicting. Without a new field the same correction arrives.
# Versions: genanki 0.13.1, anki 26.9.3.
# Why: update_or_duplicate_notetype duplicates a note type whose schema differs unless merge_notetypes is
#   set, which is off by default (rslib/src/import_export/package/apkg/import/notes.rs).
# Instead: plan spare fields in the first release, or have learners merge note types on import
#   (merge_notetypes).
# Hurts: course makers who add a hint field, and learners who go on practising the wrong answer.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile genanki==0.13.1 anki==26.9.3
cat > run.py <<'PYTHON'
import genanki
from anki.collection import Collection, ImportAnkiPackageOptions, ImportAnkiPackageRequest


def deck(path, fields, note, timestamp):
    template = {"name": "card", "qfmt": "{{Q}}", "afmt": "{{A}}"}
    model = genanki.Model(1607392319, "M", fields=[{"name": name} for name in fields], templates=[template])
    deck = genanki.Deck(2059400110, "attention")
    for values in note:
        deck.add_note(genanki.Note(model, values, guid=genanki.guid_for(values[0])))
    genanki.Package(deck).write_to_file(path, timestamp=timestamp)


def learn(name, *paths, merge=False):
    collection = Collection(f"{name}.anki2")
    options = ImportAnkiPackageOptions(merge_notetypes=merge)
    for path in paths:
        request = ImportAnkiPackageRequest(package_path=path, options=options)
        log = collection.import_anki_package(request).log
    print(f"{name}: conflicting {len(log.conflicting)}, updated {len(log.updated)}, new {len(log.new)}")
    for note in map(collection.get_note, collection.find_notes("")):
        print("   ", note.note_type()["name"], note.fields)
    collection.close()


deck("first.apkg", ["Q", "A"], [["scale", "1/d (wrong)"]], 1_700_000_000)
deck("corrected.apkg", ["Q", "A"], [["scale", "1/sqrt(d)"]], 1_800_000_000)
deck("extended.apkg", ["Q", "A", "Hint"], [["scale", "1/sqrt(d)", ""], ["mask", "-inf", ""]], 1_800_000_000)
learn("corrected", "first.apkg", "corrected.apkg")
learn("extended", "first.apkg", "extended.apkg")
learn("merged", "first.apkg", "extended.apkg", merge=True)
PYTHON
cat > expected.txt <<'EXPECTED'
corrected: conflicting 0, updated 1, new 0
    M ['scale', '1/sqrt(d)']
extended: conflicting 1, updated 0, new 1
    M ['scale', '1/d (wrong)']
    M+ ['mask', '-inf', '']
merged: conflicting 0, updated 1, new 1
    M ['scale', '1/sqrt(d)', '']
    M ['mask', '-inf', '']
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: genanki 0.13.1, anki 26.9.3"
echo "behaviour: an added field splits the note type and keeps corrections out, unless types are merged"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "anki-added-field: this behaviour has changed, see the difference above." >&2
    exit 1
fi
