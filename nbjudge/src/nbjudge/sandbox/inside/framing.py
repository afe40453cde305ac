"""`nbjudge.framing`. The sandbox exposes that file in the place of this one, because nbjudge is not there."""

from nbjudge.framing import read_frame as read_frame
from nbjudge.framing import to_frame as to_frame
