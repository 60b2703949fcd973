import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { JsonObject } from "@awaken/contract";
import { createRuntime, type RuntimeInit } from "@awaken/runtime";
import { scripted } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach } from "vitest";
import { type SkillsOptions, skills } from "./skills.ts";

const endings: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** A folder with these files, gone after the test. */
export function folderOf(files: { readonly [path: string]: string | Buffer } = {}) {
  const root = mkdtempSync(join(tmpdir(), "awaken-skills-"));
  endings.push(() => rmSync(root, { recursive: true, force: true }));
  const write = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  for (const [path, content] of Object.entries(files)) write(path, content);
  return { root, write };
}

export const skillMd = (name: string, more = "", body = `Do ${name}.`): string =>
  `---\nname: ${name}\ndescription: About ${name}\n${more}---\n${body}\n`;

export interface Ended {
  readonly outcome: string;
  readonly code: string | undefined;
  readonly data: JsonObject | string | null;
  readonly message: string | undefined;
}

export function open(
  options: SkillsOptions,
  turns: Parameters<typeof scripted>[0],
  more: Partial<RuntimeInit> = {},
  section: JsonObject = {},
) {
  const log: string[] = [];
  const model = scripted(turns);
  const [discovery, active] = skills(options);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "up" } },
    agents: { assistant: { model: "fast", plugins: [discovery.id, active.id], sections: { skills: section } } },
    plugins: [discovery, active],
    store: memoryStore(),
    log: { warn: (line) => void log.push(line), error: (line) => void log.push(line) },
    ...more,
  });
  endings.push(async () => {
    await runtime[Symbol.asyncDispose]();
  });
  const run = async (thread = "t") => {
    const ends: Ended[] = [];
    const stream = runtime.stream({ agent: "assistant", thread, input: "go" });
    for await (const event of stream) {
      if (event.type !== "tool-call-end" || event.result === undefined || event.result.type === "pending") continue;
      const { result } = event;
      const data: unknown = result.data ?? null;
      ends.push({
        outcome: event.outcome,
        code: result.type === "error" ? result.code : undefined,
        data: typeof data === "string" ? data : JSON.parse(JSON.stringify(data)),
        message: result.message,
      });
    }
    const result = await stream.result;
    return { ends, result };
  };
  /** All that the model was shown in its nth request. */
  const shown = (index: number) => {
    const request = model.requests[index];
    return `${request?.system ?? ""}\n${JSON.stringify(request?.messages ?? [])}`;
  };
  return { runtime, run, model, log, shown, discovery, active };
}
