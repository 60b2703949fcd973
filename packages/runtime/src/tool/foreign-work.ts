import { type JsonObject, toJson } from "@awaken/contract";
import { checkJson } from "@awaken/contract/json-schema";
import type { HookScene } from "../phase/hook.ts";
import { allow } from "./allow.ts";
import { type ForeignOptions, isFunction, isObject, type JsonSchemaObject } from "./foreign-values.ts";
import { Reply } from "./plain-reply.ts";
import type { ToolContext } from "./tool.ts";
import { ask, type Verdict } from "./verdict.ts";

// What AI SDK tools do, from the check of their input on.

function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The AI SDK's check, as a Standard Schema answers. It says `{ success, value }` or `{ success, error }`; without one the JSON Schema decides. */
export async function checkForeign(schema: JsonSchemaObject, json: JsonObject, value: unknown) {
  if (schema.validate === undefined) {
    const fitting = checkJson(json, value);
    return fitting.type === "valid" ? { value: fitting.value } : { issues: [{ message: fitting.message }] };
  }
  const checked: unknown = await schema.validate(value);
  if (isObject(checked) && Reflect.get(checked, "success") === true) return { value: Reflect.get(checked, "value") as unknown };
  const error: unknown = isObject(checked) ? Reflect.get(checked, "error") : "it does not fit";
  return { issues: [{ message: problemOf(error) }] };
}

const optionsOf = (context: Pick<ToolContext, "messages" | "signal"> & { readonly callId?: string }): ForeignOptions => ({
  toolCallId: context.callId ?? "",
  messages: context.messages,
  abortSignal: context.signal,
});

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> => isObject(value) && Symbol.asyncIterator in value;

/** A tool that yields tells its progress; the last value is the result. */
async function lastOf(values: AsyncIterable<unknown>, context: ToolContext): Promise<unknown> {
  let last: unknown;
  for await (const value of values) {
    last = value;
    context.activity("preliminary-result", toJson(value));
  }
  return last;
}

export async function approveForeign(id: string, needsApproval: unknown, value: unknown, scene: HookScene): Promise<Verdict> {
  const isAsked = isFunction(needsApproval) ? (await needsApproval(value, optionsOf(scene))) === true : needsApproval === true;
  return isAsked ? ask(`Run ${id}?`) : allow();
}

export async function runForeign(execute: unknown, value: unknown, context: ToolContext): Promise<unknown> {
  if (!isFunction(execute)) return new Reply({ type: "error", code: "internal", message: "the tool has no execute" }, undefined);
  const returned = execute(value, optionsOf(context));
  return isAsyncIterable(returned) ? lastOf(returned, context) : returned;
}
