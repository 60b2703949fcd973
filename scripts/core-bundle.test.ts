import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { bundle, bundleParts, findNodeGlobals, PARTS, type ProgramPart } from "./core-bundle.ts";

const WEB_GLOBALS = [
  ...["AbortController", "AbortSignal", "Blob", "DOMException", "Event", "EventTarget", "Headers", "Request", "Response", "URL"],
  ...["URLSearchParams", "ReadableStream", "TransformStream", "WritableStream", "TextDecoder", "TextEncoder", "atob", "btoa", "console"],
  ...["clearInterval", "clearTimeout", "crypto", "fetch", "performance", "queueMicrotask", "setInterval", "setTimeout", "structuredClone"],
];

/** Keeps the language and what a browser has, takes the rest of Node away, and then plays the bundle. */
const HOST = `
  const { parentPort, workerData } = require("node:worker_threads");
  const language = require("node:vm").runInNewContext("Object.getOwnPropertyNames(globalThis)");
  const kept = new Set([...language, ...workerData.web]);
  const run = eval;
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name];
  const left = run("[typeof process, typeof Buffer, typeof require, typeof setImmediate, typeof global]");
  run(workerData.code + "; globalThis.awakenBundle = awakenBundle")
  globalThis.awakenBundle.play().then(
    (played) => parentPort.postMessage({ left, played }),
    (error) => parentPort.postMessage({ left, error: String(error && error.stack) }),
  );
`;

const playWithoutNode = (code: string): Promise<unknown> =>
  answerOf(new Worker(HOST, { eval: true, workerData: { code, web: WEB_GLOBALS } }));

async function answerOf(worker: Worker): Promise<unknown> {
  try {
    return await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
      worker.once("exit", () => reject(new Error("the worker ended without an answer")));
    });
  } finally {
    await worker.terminate();
  }
}

/** One file of each part that a program without it does not load; a static import from anywhere would bring it back. */
const BEHIND_DOORS = [
  "mailbox/mailbox.ts",
  "mailbox/on-busy.ts",
  "mailbox/dead-letters.ts",
  "commit/run-ledger.ts",
  "commit/grown-view.ts",
  "commit/land-again.ts",
  "commit/log-places.ts",
  "commit/store-failed.ts",
  "commit/used-below.ts",
  "commit/memory-queries.ts",
  "commit/memory-rows.ts",
  "loop/resume/named-run.ts",
  "relay/attach.ts",
  "relay/follow.ts",
  "relay/relay.ts",
  "relay/exchange.ts",
  "run/decide.ts",
  "run/freed.ts",
  "run/initialize.ts",
  "run/left-run.ts",
  "run/rewind.ts",
  "run/child-runs.ts",
  "run/task-runs.ts",
  "builtin/background/task-verbs.ts",
  "builtin/messages/send.ts",
  "loop/abandon-calls.ts",
  "loop/ask-gates.ts",
  "loop/call-resumed.ts",
  "loop/stream-slot.ts",
  "loop/suspended-calls.ts",
  "commit/tickets.ts",
  "loop/await-tasks.ts",
  "loop/bindings.ts",
  "loop/closing-messages.ts",
  "loop/unknown-call.ts",
  "plugin/around.ts",
  "plugin/open-plugins.ts",
  "state/closed-ticket.ts",
  "loop/step-so-far.ts",
  "loop/suspend.ts",
  "loop/take-in.ts",
  "loop/close-calls.ts",
  "loop/end-begun.ts",
  "loop/follow-handoffs.ts",
  "loop/inside.ts",
  "loop/judge-output.ts",
  "loop/lost-call.ts",
  "loop/lost-input.ts",
  "loop/odd-round.ts",
  "loop/remote-step.ts",
  "loop/run-agent.ts",
  "loop/unknown-outcome.ts",
  "loop/decisions/take-decisions.ts",
  "loop/resume/recall.ts",
  "loop/resume/recover-step.ts",
  "loop/resume/close-run.ts",
  "loop/resume/ending-plan.ts",
  "loop/resume/take-over.ts",
  "loop/resume-order.ts",
  "runtime-with-store.ts",
  "relay/relays.ts",
  "run/begin-run.ts",
  "run/bound-records.ts",
  "run/stop-waiting.ts",
  "loop/resume/cut-step.ts",
  "inference/calls-so-far.ts",
  "inference/classify.ts",
  "inference/failed-answer.ts",
  "commit/counted.ts",
  "inference/asked-on.ts",
  "inference/checkpoint-recorder.ts",
  "inference/recorded-turn.ts",
  "inference/circuit-breaker.ts",
  "inference/refuse-media.ts",
  "inference/turn-parts.ts",
  "inference/pool/create-pool.ts",
  "builtin/background/tenant-work.ts",
  "builtin/background/thread-tasks.ts",
  "builtin/compaction/begin.ts",
  "builtin/compaction/compaction-changes.ts",
  "builtin/compaction/summarize.ts",
  "builtin/knowledge-cutoff/tell-cutoff.ts",
  "builtin/loop-actions/add-message.ts",
  "builtin/loop-actions/change-step.ts",
  "builtin/stop-policy/call-mark.ts",
  "builtin/stop-policy/evaluate.ts",
  "builtin/delegate/delegate.ts",
  "builtin/handoff/handoff.ts",
  "builtin/messages/outbox-changes.ts",
  "builtin/messages/send-message.ts",
  "tool/client-call.ts",
  "tool/foreign-work.ts",
  "tool/plain-result.ts",
  "tool/resolve-gates.ts",
  "tool/policy-gate.ts",
  "phase/whole-phase.ts",
  "phase/whole-command.ts",
  "phase/await-hooks.ts",
  "prompt/changed.ts",
  "prompt/changes.ts",
  "prompt/fitting-transform.ts",
  "prompt/is-due.ts",
  "prompt/made-messages.ts",
  "prompt/truncate.ts",
  "prompt/estimate.ts",
  "backend/check-profile.ts",
  "registry/content-id.ts",
  "registry/remote-agents.ts",
  "registry/tool-warnings.ts",
  "resolve/late-ids.ts",
  "state/profiles.ts",
  "stream/limited.ts",
  "stream/queue-ready.ts",
  "state/check-value.ts",
  "state/decode-value.ts",
  "state/kept.ts",
  "state/seal.ts",
  "state/schemas.ts",
  "state/task-changes.ts",
  "state/memory-profiles.ts",
];

/** The same, of the memory store. */
const BEHIND_STORE = [
  "memory/config-records.ts",
  "memory/dispatch-queue.ts",
  "memory/dispatch-rows.ts",
  "memory/dispatches.ts",
  "memory/event-reads.ts",
  "memory/log-reads.ts",
  "memory/message-queries.ts",
  "memory/outbound.ts",
  "memory/own.ts",
  "memory/pending.ts",
  "memory/profiles.ts",
  "memory/run-queries.ts",
  "memory/stats.ts",
  "memory/stream-checkpoints.ts",
  "memory/sweep.ts",
  "memory/thread-queries.ts",
  "memory/wishes.ts",
  "plan/rare-plans.ts",
];

const LATE_PARTS = [...BEHIND_DOORS.map((file) => `runtime/src/${file}`), ...BEHIND_STORE.map((file) => `stores/src/${file}`)];

const PROGRAM = JSON.stringify(join(import.meta.dirname, "core-bundle-program.ts"));

/** Plays the program, as a bundler splits it, from files of its own. `host` is a module beside them, and answers by a message. */
async function playParts(names: string, host: (entry: string, parts: readonly ProgramPart[]) => string): Promise<unknown> {
  const parts = await bundleParts(`export { ${names} } from ${PROGRAM};`);
  const folder = mkdtempSync(join(tmpdir(), "awaken-parts-"));
  try {
    for (const { fileName, code } of parts) writeFileSync(join(folder, fileName), code);
    writeFileSync(join(folder, "host.mjs"), host(`./${parts[0]?.fileName}`, parts));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    return await answerOf(new Worker(join(folder, "host.mjs")));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("the core in a browser", () => {
  const whole = bundle('export { createRuntime, defineTool, memoryStore } from "awaken";', { hasZod: false });

  it.each(PARTS)("$name stays under its ceiling and needs nothing of Node and no schema library", async ({ source, ceiling }) => {
    const { code, gzipBytes, imports } = await bundle(source, { hasZod: false });
    expect(imports).toEqual([]);
    expect(findNodeGlobals(code)).toEqual([]);
    expect(gzipBytes).toBeLessThanOrEqual(ceiling);
  });

  it.each(PARTS)("$name has no module of an extension, also none that it would load later", async ({ source }) => {
    const { modules } = await bundle(source, { hasZod: false });
    expect(modules.some((file) => file.includes("packages/runtime/src"))).toBe(true);
    expect(modules.filter((file) => file.includes("packages/extensions"))).toEqual([]);
    const one = await bundle('export { permission } from "awaken/permission";', { hasZod: false });
    expect(one.modules.some((file) => file.includes("packages/extensions/src/permission"))).toBe(true);
  });

  it.each(LATE_PARTS)("%s is loaded when it is first needed", async (file) => {
    const { modules, modulesAtOnce } = await whole;
    const isIt = (path: string) => path.endsWith(`packages/${file}`);
    expect(modules.filter(isIt)).toHaveLength(1);
    expect(modulesAtOnce.filter(isIt)).toEqual([]);
  });

  it("an agent with tools and without a store is played with what is loaded at once, also its second message, and nothing more", async () => {
    const host = (entry: string) => `import { parentPort } from "node:worker_threads"; import { playPlain } from "${entry}";
      const atOnce = [...globalThis.loadedParts]; const played = await playPlain();
      parentPort.postMessage({ played, later: globalThis.loadedParts.slice(atOnce.length) });`;
    const played = [
      { status: "done", steps: 3 },
      { status: "done", steps: 1 },
    ];
    expect(await playParts("playPlain", host)).toEqual({ played, later: [] });
  });

  it("a process with workers has every part before it needs one: its files may go", async () => {
    const host = (entry: string, parts: readonly ProgramPart[]) => {
      // Of the facade, and not of the runtime.
      const ofRuntime = parts.filter(({ modules }) => modules.every((file) => !file.includes("packages/providers/")));
      const files = JSON.stringify(ofRuntime.map(({ fileName }) => fileName));
      return `import { readdirSync, rmSync } from "node:fs"; import { parentPort } from "node:worker_threads"; import { stay } from "${entry}";
        const { play } = stay(true);
        while (${files}.some((file) => !globalThis.loadedParts.includes(file))) await new Promise(setImmediate);
        for (const file of readdirSync(import.meta.dirname)) rmSync(import.meta.dirname + "/" + file);
        parentPort.postMessage(await play());`;
    };
    expect(await playParts("stay", host)).toEqual({ statuses: ["waiting", "done"], text: "Enjoy the trip.", followed: "ticket-open" });
  });

  it("one without workers has none of them", async () => {
    const host = (entry: string, parts: readonly ProgramPart[]) => {
      const behind = parts.filter(({ modules }) => modules.some((file) => /\/(?:loop|inference)\/seldom\.ts$/.test(file)));
      return `import { parentPort } from "node:worker_threads"; import { stay } from "${entry}";
        const { runtime } = stay(false); await runtime.close();
        for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
        parentPort.postMessage(${JSON.stringify(behind.map(({ fileName }) => fileName))}.map((file) => globalThis.loadedParts.includes(file)));`;
    };
    expect(await playParts("stay", host)).toEqual([false, false]);
  });

  it("sees what only Node has, and not the same words in a text", async () => {
    const source = 'import "node:fs"; export const a = [process.env, Buffer.from(""), `this process. The Buffer (of x)`];';
    const { code, imports } = await bundle(source, { hasZod: false });
    expect(imports).toEqual(["node:fs"]);
    expect(findNodeGlobals(code)).toEqual(["process.e", "Buffer.f"]);
  });

  it("plays a tool agent to the end where there is no Node", async () => {
    const { code, imports } = await bundle(`export { play } from ${PROGRAM};`, { hasZod: true, format: "iife" });
    expect(imports).toEqual([]);
    expect(await playWithoutNode(code)).toEqual({
      left: ["undefined", "undefined", "undefined", "undefined", "undefined"],
      played: {
        outputs: ["weather succeeded", "weather succeeded", "book suspended"],
        statuses: ["waiting", "done"],
        text: "Enjoy the trip.",
      },
    });
  });
});
