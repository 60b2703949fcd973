import { AwakenError, type Provider } from "@awaken/contract";
import * as z from "zod";
import type { BackendFactory } from "../backend/backend-factory.ts";
import { definePlugin, type Plugin } from "../plugin/define-plugin.ts";
import { defineTool } from "../tool/define-tool.ts";
import type { Tool } from "../tool/tool.ts";
import { createRegistrySet, type RegistryInit } from "./create-registry-set.ts";
import { RegistryHandle } from "./registry-handle.ts";

/** A provider that is only looked up. */
export const stub = (name = "stub"): Provider => ({
  name,
  stream() {
    throw new Error(`provider '${name}' is not meant to be asked`);
  },
});

export const toolOf = (id: string): Tool => defineTool({ id, description: `tool ${id}`, input: z.object({}), execute: () => id });

export const pluginOf = (id: string): Plugin => definePlugin({ id, register() {} });

/** Provider `p`, its model `m`, and agent `a` on it, as in the customer's tests. */
export const BASIC = {
  providers: { p: stub() },
  models: { m: { provider: "p", model: "upstream" } },
  agents: { a: { model: "m", instructions: "s" } },
} satisfies RegistryInit;

export const handleOf = (init: RegistryInit): RegistryHandle => new RegistryHandle(createRegistrySet(init));

/** The error that a call throws; a test in which it throws none fails. */
export function refusal(call: () => unknown): AwakenError {
  try {
    call();
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown;
    throw thrown;
  }
  throw new Error("expected a refusal");
}

/** A factory that is only looked up. */
export const backendOf = (type: string): BackendFactory => ({
  type,
  build() {
    throw new Error(`backend '${type}' is not meant to be built`);
  },
});
