// A program that speaks the older protocol by hand, so that it can be as bad as a test needs it. Run with Node, never imported.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";

type Json = { [key: string]: unknown };

const [, , record = "", ...flags] = process.argv;
const has = (flag: string) => flags.includes(flag);
const note = (line: unknown) => record !== "" && appendFileSync(record, `${JSON.stringify(line)}\n`);
const write = (message: Json) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (words: string, more: Json = {}) => ({ content: [{ type: "text", text: words }], ...more });

if (record !== "" && existsSync(`${record}.broken`)) {
  process.stderr.write(`there is no database for ${process.env["API_KEY"] ?? "nobody"}`);
  process.exit(1);
}
note({ started: process.pid });
const isMute = record !== "" && existsSync(`${record}.mute`);
if (has("deaf")) for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});

const object = { type: "object", properties: {} };
let tools = [
  "get.Forecast",
  "echo",
  "fails",
  "refuses",
  "die",
  "hang",
  "flood",
  "broken",
  "grow",
  "shrink",
  "child",
  "env",
  "ask",
  "count",
  "progress",
  "update",
  "face",
  "faceless",
  "errs",
];
if (has("clash")) tools = ["a-b", "a_b", "???", "fine"];
if (has("hints")) tools = ["reads"];
if (has("flood-list")) tools = Array.from({ length: 1_300 }, (_, index) => `tool${index}`);
if (has("many")) tools = Array.from({ length: 25 }, (_, index) => `tool${index}`);

let asked = 0;
const waiting = new Map<unknown, (answer: Json) => void>();
const ask = (method: string, params: Json): Promise<Json> => {
  asked += 1;
  const id = `s${asked}`;
  write({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
};

const annotations = has("hints") ? { readOnlyHint: true, idempotentHint: true } : {};

const faceOf = (name: string): Json =>
  name.startsWith("face") ? { ui: { resourceUri: name === "face" ? "ui://face" : "ui://none" } } : {};

function listTools(cursor: unknown): Json {
  const from = Number(cursor ?? 0);
  const page = has("many") ? 10 : has("flood-list") ? 100 : 1_000;
  const listed = tools
    .slice(from, from + page)
    .map((name) => ({ name, inputSchema: object, description: `Does ${name}`, annotations, _meta: faceOf(name) }));
  return { tools: listed, ...(from + page < tools.length ? { nextCursor: String(from + page) } : {}) };
}

async function call(id: unknown, name: string, args: Json, meta: Json): Promise<Json | undefined> {
  switch (name) {
    case "fails":
      return text("it did not work", { isError: true });
    case "errs":
      throw new Error(`it is closed for ${process.env["API_KEY"] ?? "nobody"}`);
    case "refuses":
      throw Object.assign(new Error("no such city"), { code: -32_602 });
    case "die":
      process.exit(3);
      break;
    case "hang":
      return undefined;
    case "flood":
      process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":"`);
      for (let index = 0; index < 20; index += 1) process.stdout.write("x".repeat(1024 * 1024));
      return undefined;
    case "broken":
      process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{{{\n`);
      return undefined;
    case "grow":
      tools = [...tools, "grown"];
      if (!has("quiet")) write({ method: "notifications/tools/list_changed" });
      return text("grown");
    case "shrink":
      tools = tools.filter((tool) => tool !== "echo");
      write({ method: "notifications/tools/list_changed" });
      return text("shrunk");
    case "child": {
      const { pid } = spawn(process.execPath, ["-e", "process.on('SIGTERM',()=>{});process.on('SIGINT',()=>{});setInterval(()=>{},1000)"]);
      return text(String(pid));
    }
    case "env":
      return text(JSON.stringify(process.env));
    case "ask": {
      const { method, params } = args;
      return text(JSON.stringify(await ask(String(method), { ...(params as Json) })));
    }
    case "count":
      note({ counted: true });
      return text("counted");
    case "update":
      write({ method: "notifications/resources/updated", params: { uri: "note://one" } });
      return text("updated");
    case "progress": {
      const { progressToken } = meta;
      for (let index = 1; index <= 1_000; index += 1) {
        write({ method: "notifications/progress", params: { progressToken, progress: index, total: 1_000 } });
      }
      return text("done");
    }
    default:
      return text(JSON.stringify({ pid: process.pid, args, meta }));
  }
}

async function handle(message: Json): Promise<void> {
  const { id, method, params = {} } = message as { id?: unknown; method?: string; params?: Json };
  note(message);
  if (isMute) return;
  if (method === undefined) return waiting.get(id)?.(message);
  if (has("leaves") && method === "server/discover") process.exit(0);
  if (id === undefined) return;
  try {
    if (method === "initialize") {
      const capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
      write({ id, result: { protocolVersion: params["protocolVersion"], capabilities, serverInfo: { name: "test", version: "1" } } });
    } else if (method === "tools/list") write({ id, result: listTools(params["cursor"]) });
    else if (method === "tools/call") {
      const { name, arguments: args = {}, _meta = {} } = params as { name: string; arguments?: Json; _meta?: Json };
      const result = await call(id, name, args, _meta);
      if (result !== undefined) write({ id, result });
    } else if (method === "resources/subscribe" || method === "resources/unsubscribe") write({ id, result: {} });
    else if (method === "resources/read" && params["uri"] === "ui://face") {
      write({ id, result: { contents: [{ uri: "ui://face", text: "<b>21</b>" }] } });
    } else throw Object.assign(new Error("method not found"), { code: -32_601 });
  } catch (thrown) {
    const { code = -32_000, message: words } = thrown as { code?: number; message: string };
    write({ id, error: { code, message: words } });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => void handle(JSON.parse(line) as Json));
if (has("deaf")) setInterval(() => {}, 1_000);
