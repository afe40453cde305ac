"""The exercises of lesson 2, one file per exercise."""
