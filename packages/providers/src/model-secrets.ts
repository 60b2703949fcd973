import type { Headers } from "./request/to-options.ts";

const AUTH_HEADER = /auth|key|token|secret|cookie/i;

/** The credentials among headers, with and without their scheme. */
export function headerSecrets(headers: Headers): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (AUTH_HEADER.test(name) ? [value, value.replace(/^\w+\s+/, "")] : []));
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

function readHeaders(model: object): unknown {
  const config: unknown = Reflect.get(model, "config");
  const headers = isTable(config) ? config["headers"] : undefined;
  return typeof headers === "function" ? Reflect.apply(headers, config, []) : headers;
}

/**
 * What a model logs in with, as far as it can be seen: vendor packages keep their headers, or a function that gives them, in the
 * model's `config`. Credentials that have to be fetched are not waited for.
 */
export function modelSecrets(model: object): string[] {
  try {
    const headers = readHeaders(model);
    if (headers instanceof Promise) headers.catch(() => undefined);
    if (!isTable(headers)) return [];
    return headerSecrets(
      Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === "string")),
    );
  } catch {
    // No key at all, for example: the call itself says so.
    return [];
  }
}
