import type { ScopeId } from "@awaken/contract";

/** An id among those of all tenants. A scope id has no control characters, so two pairs never give one key. */
export const keyIn = (scopeId: ScopeId, id: string): string => `${scopeId}\u0000${id}`;
