"""Hands in text that JSON readers choke on: nests, numbers of a million digits, keys twice, NaN for cells."""

import json

from attack import wrong


def submission():
    whole = json.dumps(wrong())
    nest = "[" * 50_000 + "]" * 50_000
    text = f'{{"nest": {nest}, "cells": NaN, "cells": [], "digits": -{"9" * 10**6}, {whole[1:]}'
    return text.encode()
