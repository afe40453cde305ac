"""The zip for students: its contents, its wheels, and a search in it for answers that leak."""
