"""Codex CLI: rollouts in ~/.codex/sessions."""
