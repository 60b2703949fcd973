/** What an AI SDK tool gets beside its input. */
export interface ForeignOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal: AbortSignal;
}

type Call = (input: unknown, options: ForeignOptions) => unknown;

export const isObject = (value: unknown): value is object => (typeof value === "object" && value !== null) || typeof value === "function";
export const isFunction = (value: unknown): value is Call => typeof value === "function";

/** The AI SDK's own schema object: JSON Schema with an optional check. */
export interface JsonSchemaObject {
  readonly jsonSchema: unknown;
  readonly validate?: (value: unknown) => unknown;
}
