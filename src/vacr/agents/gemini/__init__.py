"""Gemini CLI: chats and logs in ~/.gemini/tmp."""
