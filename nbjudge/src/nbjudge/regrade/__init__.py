"""An instructor's decision in the judge's place, for everybody who gave the same answer."""
