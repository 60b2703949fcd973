import { messageText, type Provider, runId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { expect } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { type CrashPoint, crashPoints } from "../testing/crash-points.ts";
import { soleNode } from "../testing/fake-clock.ts";
import type { ScriptedProvider } from "../testing/scripted.ts";
import { defineTool, type ToolInit } from "../tool/define-tool.ts";

export const SILENT = { warn() {}, error() {} };
export const input = z.object({ n: z.number() });
export type Kind = Partial<Pick<ToolInit<{ n: number }, unknown>, "reconcile" | "idempotent" | "pure" | "approve">>;

/** The world outside: what happened there stays, whatever becomes of the process. */
export class World {
  readonly effects: string[] = [];

  /** Does something once per call of it, and tells the key. */
  tool(id: string, kind: Kind = {}) {
    return defineTool({
      id,
      description: "",
      input,
      ...kind,
      execute: ({ n }, { idempotencyKey }) => {
        if (!(kind.idempotent && this.effects.includes(`${id} ${n} ${idempotencyKey}`))) this.effects.push(`${id} ${n} ${idempotencyKey}`);
        return { did: n };
      },
    });
  }

  /** The effects without their keys. */
  get done(): readonly string[] {
    return this.effects.map((effect) => effect.split(" ").slice(0, 2).join(" "));
  }

  readonly reconcile: NonNullable<Kind["reconcile"]> = ({ n }, { idempotencyKey }) =>
    this.effects.some((effect) => effect.endsWith(idempotencyKey)) ? { type: "done", data: { did: n } } : { type: "not-done" };
}

export function open(provider: Provider, init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    log: SILENT,
    // Whoever comes after a process that died knows that it did, and nobody but the test goes on with what it left.
    node: soleNode(crypto.randomUUID()),
    workers: false,
    ...init,
  });
}

/** Runs until the process dies at the given point. */
export async function crash(store: Store, at: CrashPoint, nth: number, provider: Provider, init: Partial<RuntimeInit>) {
  const points = crashPoints({ at, nth, mode: "throw" });
  const tools = Array.isArray(init.tools) ? points.tools(init.tools) : [];
  const runtime = open(provider, { ...init, tools, store: points.commits(store, "commit", "transaction") });
  const run = runtime.stream({ thread: "t", input: "go" });
  await run.result.catch(() => {});
  expect(points.hasCrashed).toBe(true);
  return run.id;
}

export const openEntries = (store: Store, run: string) => store.ledger.list(runId(run));

export const lastPrompt = ({ requests }: ScriptedProvider) =>
  requests.at(-1)?.messages.map((message) => `${message.role}: ${messageText(message)}`);
