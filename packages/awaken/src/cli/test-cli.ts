import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";

// The command as users have it, on projects in temporary folders.

const CHECKOUT = join(import.meta.dirname, "../../../..");
const MODULES = join(CHECKOUT, "node_modules");

/**
 * Where the package is: in few files, when the run of the tests has made them of our sources, since most of what a process costs is to load
 * a file for each module.
 */
function place(): { readonly folder: string; readonly main: string } {
  const made = process.env["AWAKEN_TEST_PROGRAMS"];
  const folder = join(made ?? CHECKOUT, "packages/awaken");
  return { folder, main: join(folder, made === undefined ? "src/cli/main.ts" : "src/cli/main.js") };
}

/** For a test file that is about the checkout itself. */
export const useSources = (): void => void Reflect.deleteProperty(process.env, "AWAKEN_TEST_PROGRAMS");

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** No key and no colour of whoever runs the tests gets in. */
const BASE_ENV = {
  PATH: process.env["PATH"] ?? "",
  HOME: tmpdir(),
  // What one of them compiled the next one reads.
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? "",
};

export function startCli(args: readonly string[], { cwd, env = {} }: CliOptions) {
  return spawn(process.execPath, ["--conditions=awaken-source", place().main, ...args], { cwd, env: { ...BASE_ENV, ...env } });
}

export async function cli(args: readonly string[], options: CliOptions): Promise<CliResult> {
  const child = startCli(args, options);
  child.stdin.end(options.input ?? "");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: child.exitCode, stdout, stderr };
}

const PLAYER = join(import.meta.dirname, "play-commands.test-support.ts");

/** Several command lines, one after the other in one process; `whileTheyRun` may look at what they show. */
export async function cliAll(
  lines: readonly (readonly string[])[],
  { cwd, env = {} }: CliOptions,
  whileTheyRun: (shown: Watch) => Promise<void> = async () => {},
): Promise<readonly CliResult[]> {
  const args = ["--conditions=awaken-source", PLAYER, JSON.stringify(lines)];
  const child = spawn(process.execPath, args, { cwd, env: { ...BASE_ENV, ...env } });
  child.stdin.end();
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  await whileTheyRun(new Watch(child.stdout));
  const [stdout, stderr] = await ended;
  const [told, remarks] = [stdout.split("\0"), stderr.split("\0")];
  return lines.map((_, index) => ({
    code: Number(told[2 * index + 1]),
    stdout: told[2 * index] ?? "",
    stderr: remarks[index] ?? "",
  }));
}

/** Collects what a stream shows. */
export class Watch {
  #seen = "";
  #isOver = false;
  readonly #stream: NodeJS.ReadableStream;

  constructor(stream: NodeJS.ReadableStream) {
    this.#stream = stream;
    stream.on("data", (chunk) => {
      this.#seen += String(chunk);
    });
    stream.on("end", () => {
      this.#isOver = true;
    });
  }

  /** Waits until this was shown. */
  async shows(wanted: string): Promise<void> {
    while (!this.#seen.includes(wanted)) {
      if (this.#isOver) throw new Error(`'${wanted}' was not shown: ${this.#seen}`);
      await Promise.race([once(this.#stream, "data"), once(this.#stream, "end")]);
    }
  }
}

/** Lines of JSON. */
export function jsonLines(stdout: string): readonly Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Record<string, unknown> => JSON.parse(line));
}

/** Temporary folders that go away with the test file. */
export class Folders implements Disposable {
  readonly #made: string[] = [];

  empty(): string {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "awaken-cli-")));
    this.#made.push(folder);
    return folder;
  }

  /** A folder in which `awaken` and `zod` are installed. */
  project(files: Readonly<Record<string, string>> = { "awaken.config.ts": CONFIG }): string {
    const folder = this.empty();
    writeFiles(folder, { "package.json": '{ "type": "module" }', ...files });
    link(folder);
    return folder;
  }

  [Symbol.dispose](): void {
    for (const folder of this.#made) rmSync(folder, { recursive: true, force: true });
  }
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, body] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), body);
  }
}

export function link(folder: string): void {
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  symlinkSync(place().folder, join(folder, "node_modules/awaken"));
  symlinkSync(join(MODULES, "zod"), join(folder, "node_modules/zod"));
}

/** Makes packages look as if they were not installed. */
export const hide = (...names: readonly string[]): string => `
import { registerHooks } from "node:module";
const hidden = new Set(${JSON.stringify(names)});
registerHooks({
  resolve(specifier, context, next) {
    if (!hidden.has(specifier)) return next(specifier, context);
    throw Object.assign(new Error("Cannot find package '" + specifier + "' imported from " + context.parentURL), { code: "ERR_MODULE_NOT_FOUND" });
  },
});
`;

/** A model that does what the last message says. It keeps nothing, so it goes on in another process. */
export const CONFIG = `
import { ask, defineTool } from "awaken";
import { defineConfig } from "awaken/config";
import { writeFileSync } from "node:fs";
import * as z from "zod";

const refund = defineTool({
  id: "refund",
  description: "",
  input: z.object({ amount: z.number() }),
  approve: ({ amount }) => ask("Refund " + amount + "?"),
  execute: ({ amount }) => "refunded " + amount,
});
const stubborn = defineTool({
  id: "stubborn",
  description: "",
  input: z.object({}),
  execute: () => new Promise<string>((resolve) => setTimeout(resolve, 600_000)),
});

const slowly = defineTool({
  id: "slowly",
  description: "",
  input: z.object({}),
  execute: async () => {
    console.log("from the tool \\u001b[31m");
    await new Promise((resolve) => setTimeout(resolve, 300));
    writeFileSync("effect.txt", "done");
    return "slowly done";
  },
});

const call = (id: string, name: string, input: object) => [
  { type: "tool-call-start", id, name } as const,
  { type: "tool-call-delta", id, delta: JSON.stringify(input) } as const,
];
const stop = { type: "stop", reason: "end-turn" } as const;

interface Said {
  readonly role: string;
  readonly content: readonly { readonly text?: string }[];
}

const model = {
  name: "rules",
  async *stream({ messages }: { messages: readonly Said[] }, { signal }: { signal: AbortSignal }) {
    const last = messages.at(-1);
    const said = last?.content.map((part) => part.text ?? "").join("");
    if (last?.role === "tool") yield { type: "text-delta", delta: "result: " + said } as const;
    else if (said === "refund") yield* call("c1", "refund", { amount: 120 });
    else if (said === "two") yield* [...call("a1", "refund", { amount: 1 }), ...call("a2", "refund", { amount: 2 })];
    else if (said === "stubborn") yield* call("s1", "stubborn", {});
    else if (said === "slowly") yield* call("w1", "slowly", {});
    else if (said === "crash") {
      if (process.env.CRASH === "1") process.kill(process.pid, "SIGKILL");
      yield { type: "text-delta", delta: "survived" } as const;
    } else if (said === "slow") {
      yield { type: "text-delta", delta: "started" } as const;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    } else if (said === "evil") {
      for (const delta of ["\\u001b[3", "1mred\\u001b]0;title\\u0007", "\\u009b2J end"]) yield { type: "text-delta", delta } as const;
    } else if (said === "broken") {
      const message = "the model is broken";
      throw Object.assign(new Error(message), { name: "InferenceError", failure: { type: "invalid-request", message } });
    } else if (said === "plan") yield { type: "text-delta", delta: '{ "title": "A plan" }' } as const;
    else yield { type: "text-delta", delta: "you said: " + said } as const;
    yield stop;
  },
};

export default defineConfig({
  providers: { rules: model },
  models: { main: { provider: "rules", model: "rules-1" } },
  agents: { assistant: { model: "main" }, planner: { model: "main" } },
  tools: [refund, stubborn, slowly],
  outputs: { planner: z.object({ title: z.string() }) },
});
`;
