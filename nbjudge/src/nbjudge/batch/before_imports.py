"""The first module of the workers' fork server: no garbage is collected while it imports the others.

A worker collects again (`initialize_worker`).
"""

import gc

gc.disable()
