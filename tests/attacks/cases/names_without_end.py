"""Hands in a notebook whose metadata hold millions of names: small in a file, large in memory."""

REASON = "holds more entries than any notebook"


def submission():
    names = ",".join(f'"{number:x}":1' for number in range(2_900_000))
    return ('{"cells":[],"nbformat":4,"metadata":{"x":"\U0001f642",' + names + "}}").encode()
