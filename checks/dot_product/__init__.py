"""The exercises of lesson 1, one file per exercise."""
