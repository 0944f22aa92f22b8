"""Claude Code: transcripts in ~/.claude/projects."""
