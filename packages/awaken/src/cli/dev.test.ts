import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@awaken/client";
import { afterAll, expect, test } from "vitest";
import { CONFIG_TEMPLATE } from "./init/config-template.ts";
import { DEMO_MODEL_TEMPLATE } from "./init/demo-model-template.ts";
import { Folders, startCli } from "./test-cli.ts";

// `awaken dev` as a process, on a project that is changed while it runs.

const folders = new Folders();
afterAll(() => folders[Symbol.dispose]());

const config = (answer: string) => `
import { appendFileSync, existsSync } from "node:fs";
import { defineTool } from "awaken";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const next = ({ messages }) => {
  const last = messages.at(-1);
  if (last.role === "tool") return text(${JSON.stringify(answer)} + " after the tool");
  return JSON.stringify(last.content).includes("work") ? toolCall("work", {}) : text(${JSON.stringify(answer)});
};

const work = defineTool({
  id: "work",
  description: "Works for a while",
  input: z.object({}),
  async execute() {
    appendFileSync("work.log", "begun\\n");
    while (!existsSync("go.log")) await new Promise((resolve) => setTimeout(resolve, 50));
    // Whoever was told to leave has heard of it by then.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    appendFileSync("work.log", "done\\n");
    return { ok: true };
  },
});

export default {
  providers: { house: { name: "house", stream: (request, options) => scripted([next]).stream(request, options) } },
  models: { fast: { provider: "house", model: "fast-1" } },
  agents: { assistant: { model: "fast" } },
  tools: [work],
};
`;

interface Dev extends AsyncDisposable {
  readonly url: string;
  readonly said: () => string;
  terminate(): Promise<number | null>;
}

async function startDev(cwd: string): Promise<Dev> {
  const child = startCli(["dev", "--port", "0"], { cwd });
  let said = "";
  const hear = (chunk: unknown) => {
    said += String(chunk);
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const ended = once(child, "exit");
  await expect.poll(() => said, { timeout: 300_000 }).toContain("OpenAPI");
  const url = /http:\/\/localhost:\d+/.exec(said)?.[0] ?? expect.fail(said);
  const terminate = async () => {
    child.kill("SIGTERM");
    await ended;
    return child.exitCode;
  };
  return { url, said: () => said, terminate, [Symbol.asyncDispose]: async () => void (await terminate()) };
}

const write = (cwd: string, text: string) => writeFileSync(join(cwd, "awaken.config.ts"), text);
const PATIENCE = { timeout: 300_000, interval: 200 };

test("a new project is served by its demo model where no key is; each change is served without a break; one that does not load leaves the old one serving and says why", async () => {
  const cwd = folders.project({ "awaken.config.ts": CONFIG_TEMPLATE, "demo-model.ts": DEMO_MODEL_TEMPLATE });
  await using dev = await startDev(cwd);
  const client = createClient({ url: dev.url });
  const answer = async () => {
    const result = await client.run({ agent: "assistant", input: "hello" });
    return result.status === "done" ? result.text : result.status;
  };
  expect(await answer()).toContain("I am a demo model");
  for (const path of ["v1/runs", "v1/ai-sdk/chat", "v1/ag-ui/run", "openapi.json"]) expect(dev.said()).toContain(`${dev.url}/${path}\n`);
  expect(existsSync(join(cwd, "awaken.db"))).toBe(true);
  write(cwd, config("the second"));
  await expect.poll(answer, PATIENCE).toBe("the second");
  write(cwd, "export default {{{");
  await expect.poll(dev.said, PATIENCE).toContain("goes on serving");
  expect(dev.said()).toContain("awaken.config.ts");
  expect(await answer()).toBe("the second");
  write(cwd, config("the third"));
  await expect.poll(answer, PATIENCE).toBe("the third");
  expect((await fetch(`${dev.url}/openapi.json`)).status).toBe(200);
  // A page that somebody works on beside it may ask; one of elsewhere may not.
  const allows = async (origin: string) =>
    (await fetch(`${dev.url}/v1/ai-sdk/chat`, { method: "OPTIONS", headers: { origin } })).headers.get("access-control-allow-origin");
  expect(await allows("http://localhost:5173")).toBe("http://localhost:5173");
  expect(await allows("https://elsewhere.example.com")).toBeNull();
  expect(await dev.terminate()).toBe(0);
  await expect(fetch(dev.url)).rejects.toThrow();
});

test("a tool that runs while the project changes comes to its end once; its run goes on in the new process, and the client with it", async () => {
  const cwd = folders.project({ "awaken.config.ts": config("the first") });
  await using dev = await startDev(cwd);
  const client = createClient({ url: dev.url });
  const run = client.stream({ agent: "assistant", thread: "t", input: "work" });
  const log = () => (existsSync(join(cwd, "work.log")) ? readFileSync(join(cwd, "work.log"), "utf8") : "");
  const reading = (async () => {
    let text = "";
    for await (const event of run) {
      if (event.type === "text-delta") text += event.delta;
      if (event.type === "stream-reset") text = "";
    }
    return text;
  })();
  await expect.poll(log, PATIENCE).toBe("begun\n");
  write(cwd, config("the second"));
  await expect.poll(dev.said, PATIENCE).toContain("the old one ends its tools");
  writeFileSync(join(cwd, "go.log"), "");
  expect(await reading).toBe("the second after the tool");
  expect(await run.result).toMatchObject({ status: "done", text: "the second after the tool" });
  expect(log()).toBe("begun\ndone\n");
});
