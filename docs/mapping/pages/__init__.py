"""The pages of docs/mapping, each made of a reader's own tables."""
