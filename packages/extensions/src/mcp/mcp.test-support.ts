import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { createRuntime, type Runtime, type RuntimeInit } from "@awaken/runtime";
import { scripted } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach } from "vitest";
import { type McpPlugin, mcp } from "./mcp.ts";
import type { McpOptions, McpStdioServer } from "./types.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const endings: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Calls it after the test. */
export const atEnd = (end: () => Promise<void> | void): void => void endings.push(end);

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "awaken-mcp-"));
  atEnd(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A server of somebody else's, from npm. */
export const npmServer = (name: string, ...args: readonly string[]): McpStdioServer => ({
  command: process.execPath,
  args: [join(ROOT, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
});

/** Our own bad server, and what it was sent. */
export function badServer(...flags: readonly string[]) {
  const record = join(folder(), "record");
  const server: McpStdioServer = { command: process.execPath, args: [join(import.meta.dirname, "test-server.ts"), record, ...flags] };
  const messages = (): readonly JsonObject[] =>
    existsSync(record)
      ? readFileSync(record, "utf8")
          .trim()
          .split("\n")
          .map((line): unknown => JSON.parse(line))
          .filter(isJsonObject)
      : [];
  const sent = (method: string) => messages().filter((message) => message["method"] === method);
  const breakIt = (isBroken: boolean) => {
    if (isBroken) writeFileSync(`${record}.broken`, "");
    else rmSync(`${record}.broken`, { force: true });
  };
  /** From its next start it answers nothing. */
  const mute = () => writeFileSync(`${record}.mute`, "");
  return { server, messages, sent, breakIt, mute };
}

export interface Opened {
  readonly runtime: Runtime;
  readonly plugin: McpPlugin;
  readonly model: ReturnType<typeof scripted>;
  readonly log: readonly string[];
  /** Runs the script to its end and gives what the calls gave, in their order. */
  run(thread?: string): Promise<readonly ToolEnd[]>;
}

export interface ToolEnd {
  readonly name: string;
  readonly outcome: string;
  readonly data: JsonValue;
  readonly message: string | undefined;
  readonly code: string | undefined;
  readonly metadata: JsonObject;
}

export function open(options: McpOptions, turns: Parameters<typeof scripted>[0], more: Partial<RuntimeInit> = {}): Opened {
  const log: string[] = [];
  const plugin = mcp(options);
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "up" } },
    agents: { assistant: { model: "fast", plugins: [plugin.id] } },
    plugins: [plugin],
    store: memoryStore(),
    log: { warn: (line) => void log.push(line), error: (line) => void log.push(line) },
    ...more,
  });
  atEnd(async () => {
    await runtime[Symbol.asyncDispose]();
  });
  const run = async (thread = "t") => {
    const ends: ToolEnd[] = [];
    const stream = runtime.stream({ agent: "assistant", thread, input: "go" });
    for await (const event of stream) {
      if (event.type !== "tool-call-end" || event.result === undefined) continue;
      const { result } = event;
      ends.push({
        name: event.toolName,
        outcome: event.outcome,
        data: result.type === "pending" ? null : (result.data ?? null),
        message: result.message,
        code: result.type === "error" ? result.code : undefined,
        metadata: result.metadata ?? {},
      });
    }
    await stream.result;
    return ends;
  };
  return { runtime, plugin, model, log, run };
}

/** Whether a process is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
