import { validateSync } from "@awaken/contract";
import { type ContextPolicy, contextPolicySchema } from "@awaken/contract/spec";

/** The policy that an agent with these fields has. */
export function toContextPolicy(fields: object): ContextPolicy {
  const result = validateSync(contextPolicySchema, fields);
  if (result.type === "invalid") throw new Error(result.message);
  return result.value;
}
