"""What can be wrong with the table in a `PositionalEncoding`: each mistake of `sinusoidal_encoding`."""

from .positional_encoding import _Encoding, positional_encoding
from .sinusoidal_encoding import sinusoidal_encoding

IN_THE_TABLE = "The positions are added correctly, but the table `pe` is wrong. {message}"


def _with_the_table_of(mistake):
    return type(mistake.name, (_Encoding,), {"table": staticmethod(mistake.answer)})


for _mistake in sinusoidal_encoding.mistakes:
    _message = IN_THE_TABLE.format(message=_mistake.message)
    positional_encoding.mistake(_message)(_with_the_table_of(_mistake))
