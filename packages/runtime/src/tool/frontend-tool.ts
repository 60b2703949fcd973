import type { JsonValue, ToolDescriptor, Validated } from "@awaken/contract";
import { checkJsonSchema } from "./json-schema.ts";
import { seldom } from "./seldom-door.ts";
import type { Tool } from "./tool.ts";
import { guessToolKind } from "./tool-kind.ts";

type Check = (input: JsonValue) => Validated<unknown> | Promise<Validated<unknown>>;

/**
 * A tool that the client runs: a call waits for the client's answer, which becomes its result. The client gets the input as the model
 * wrote it, once it is checked: by the JSON Schema of its parameters, unless there is a schema that can do it itself.
 */
export function frontendTool(descriptor: ToolDescriptor, check: Check = (input) => checkJsonSchema(descriptor.parameters, input)): Tool {
  const { id } = descriptor;
  return {
    id,
    descriptor,
    traits: {
      kind: guessToolKind(id),
      runsAt: "client",
      dynamic: false,
      idempotent: true,
      pure: true,
      canApprove: false,
      canReconcile: false,
      timeoutMs: undefined,
    },
    async prepare(given) {
      const input = given ?? {};
      const checked = await check(input);
      return checked.type === "valid" ? { type: "valid", value: (await seldom.open()).waitForClient(id, input) } : checked;
    },
  };
}
