#!/usr/bin/env bash
# seaborn: one -inf takes all colours from a heatmap of scores
# Guess: masked scores (-inf) stay blank and the rest is coloured by value, as with plt.imshow.
# What happens: all finite cells get one single colour, although their annotations are right; imshow colours
#   them apart.
# Versions: seaborn 0.13.2, matplotlib 3.11.2, numpy 2.4.6.
# Why: _HeatMapper masks only pd.isnull cells and takes vmin by np.nanmin, which is -inf; matplotlib's own
#   autoscale masks invalid values first (seaborn/matrix.py, _matrix_mask and _determine_cmap_params).
# Instead: sns.heatmap(scores, mask=np.isneginf(scores)), and the annotations stay.
# Hurts: students who look at causal scores before the softmax and conclude that they are all equal.
set -euo pipefail

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install -qq --no-compile seaborn==0.13.2 matplotlib==3.11.2 numpy==2.4.6 pandas==3.1.1
cat > run.py <<'PYTHON'
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

warnings.simplefilter("ignore")
scores = np.array([[1.0, -np.inf, -np.inf], [2.0, 3.0, -np.inf], [4.0, 5.0, 6.0]])
visible = np.isfinite(scores)


def colours(mask):
    plt.figure()
    axes = sns.heatmap(scores, annot=True, mask=mask)
    axes.figure.canvas.draw()
    faces = axes.collections[0].get_facecolors().reshape(3, 3, 4)
    return len(np.unique(faces[visible], axis=0)), [text.get_text() for text in axes.texts]


print("heatmap: colours of the six scores: %d; annotations: %s" % colours(None))
print("heatmap with mask: colours of the six scores: %d; annotations: %s" % colours(~visible))
plt.figure()
image = plt.imshow(scores)
print("imshow: colours of the six scores:", len(np.unique(image.to_rgba(scores)[visible], axis=0)))
PYTHON
cat > expected.txt <<'EXPECTED'
heatmap: colours of the six scores: 1; annotations: ['1', '2', '3', '4', '5', '6']
heatmap with mask: colours of the six scores: 6; annotations: ['1', '2', '3', '4', '5', '6']
imshow: colours of the six scores: 6
EXPECTED

env/bin/python run.py > seen.txt || echo "the example ended with an error" >> seen.txt
echo "version: seaborn 0.13.2, matplotlib 3.11.2"
echo "behaviour: six different scores beside -inf get one colour in seaborn and six in imshow"
cat seen.txt
if ! diff expected.txt seen.txt > difference.txt; then
    cat difference.txt
    echo "seaborn-minus-infinity: this behaviour has changed, see the difference above." >&2
    exit 1
fi
