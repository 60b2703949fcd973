import type { JsonObject } from "./json.ts";

/** Where the runtime says what people who operate it should know. Fields never hold a secret. */
export interface Log {
  /** Something was left out, tried again or refused, and the run goes on. */
  warn(message: string, fields?: JsonObject): void;
  /** Something failed that nobody is told of in another way. */
  error(message: string, fields?: JsonObject): void;
}

export const consoleLog: Log = {
  warn: (message, fields) => console.warn(message, ...(fields === undefined ? [] : [fields])),
  error: (message, fields) => console.error(message, ...(fields === undefined ? [] : [fields])),
};
