"""Code that runs inside bubblewrap, as the package `inside`; nothing else of nbjudge is exposed there."""
