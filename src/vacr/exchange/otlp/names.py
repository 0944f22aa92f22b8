"""The names that traces of agents use. Step: export.

Those of GenAI are the ones of `open-telemetry/semantic-conventions-genai`, which is still in
development: they are kept here, because no package has them. Those of OpenInference stand beside
them for tools that know only these.
"""

from __future__ import annotations

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"

PROVIDER = "gen_ai.provider.name"
CONVERSATION = "gen_ai.conversation.id"
AGENT_ID = "gen_ai.agent.id"
AGENT_NAME = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INSTRUCTIONS = "gen_ai.system_instructions"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
ERROR_TYPE = "error.type"

USAGE = {
    "input": "gen_ai.usage.input_tokens",
    "output": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
    "cost": "vacr.usage.cost",
}
TOKEN_COUNTS = {
    "input": "llm.token_count.prompt",
    "output": "llm.token_count.completion",
    "total": "llm.token_count.total",
}
SPAN_KIND = "openinference.span.kind"
SPAN_KINDS = {INVOKE_AGENT: "AGENT", CHAT: "LLM", EXECUTE_TOOL: "TOOL"}
SESSION = "session.id"

PROVIDERS = {"google": "gcp.gemini"}
"""Providers that have another name there."""
