import type { JsonObject, Schema } from "@awaken/contract";
import { type Late, whenThere } from "../stream/door.ts";
import { defineTool, type ToolInit } from "../tool/define-tool.ts";
import type { Reply } from "../tool/plain-reply.ts";
import type { Tool, ToolContext } from "../tool/tool.ts";

/** What a tool does, from the check of its input on. */
export interface ToolWork<I> {
  readonly input: Schema<I>;
  execute(input: I, context: ToolContext): JsonObject | Reply | Promise<JsonObject | Reply>;
}

type Declared = Pick<ToolInit<unknown, never>, "id" | "description" | "idempotent" | "pure"> & { readonly parameters: JsonObject };

/** A tool of ours whose work is loaded with its first call: to be offered to a model it needs no more than its declaration. */
export function lateTool<I>(declared: Declared, load: () => Late<ToolWork<I>>): Tool {
  const input: Schema<I> = {
    "~standard": {
      version: 1,
      vendor: "awaken",
      validate: (value) => whenThere(load(), (work) => work.input["~standard"].validate(value)),
    },
  };
  return defineTool<I, JsonObject>({
    ...declared,
    kind: "other",
    input,
    execute: (given, context) => whenThere(load(), (work) => work.execute(given, context)),
  });
}
