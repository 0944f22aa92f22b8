"""OpenCode: exports, storage folders and databases."""
