"""The pages of docs/mapping, each built from the tables of a reader."""
