import { DEFAULT_SCOPE, type MessageId, type RunId, type ScopeId, type ToolCallId } from "../ids.ts";

/**
 * Stable across retries, restarts and replays of one call. The message is in it because vendors repeat call ids, and the tenant because
 * outside systems do not know of tenants, which may have runs of the same id. The default tenant goes without saying.
 */
export function effectKey(runId: RunId, messageId: MessageId, toolCallId: ToolCallId, scopeId: ScopeId = DEFAULT_SCOPE): string {
  const call = `${encoded(runId)}:${encoded(messageId)}:${encoded(toolCallId)}`;
  return scopeId === DEFAULT_SCOPE ? call : `${encoded(scopeId)}:${call}`;
}

const PLAIN = /^[\w.~-]*$/;
const encoded = (id: string): string => (PLAIN.test(id) ? id : encodeURIComponent(id.toWellFormed()));
