// CopilotKit reads it when it is loaded, so this is imported first.
process.env["COPILOTKIT_TELEMETRY_DISABLED"] = "true";
