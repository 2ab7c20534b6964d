"""The figures by group; each module registers its own with `book`."""
