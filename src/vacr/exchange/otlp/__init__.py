"""OTLP/JSON traces with the GenAI attributes of OpenTelemetry, for tools that show traces."""
