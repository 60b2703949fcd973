import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type Agent, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import type { Place } from "./ours.ts";
import type { PeerName } from "./peers.ts";
import { post, Wire } from "./wire.ts";

const FILE = join(import.meta.dirname, "process.ts");

export interface Served extends AsyncDisposable {
  readonly name: string;
  readonly port: number;
  /** Bytes on the heap and beside it, after a collection. */
  held(): Promise<number>;
  /** Processor time that it has used, in µs. */
  cpu(): Promise<number>;
}

const field = (message: unknown, name: string): number => Number(Object(message)[name]);

async function told(child: ChildProcess, name: string): Promise<number> {
  const [message]: unknown[] = await once(child, "message");
  return field(message, name);
}

function asked(child: ChildProcess, name: "held" | "cpu"): Promise<number> {
  const answer = told(child, name);
  child.send(name);
  return answer;
}

export async function startServer(name: PeerName | "ours", place: Place = { type: "memory" }): Promise<Served> {
  const child = fork(FILE, [name, JSON.stringify(place)], { execArgv: ["--conditions=awaken-source", "--expose-gc"] });
  const port = await told(child, "port");
  return {
    name,
    port,
    held: () => asked(child, "held"),
    cpu: () => asked(child, "cpu"),
    async [Symbol.asyncDispose]() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

interface Ask {
  readonly port: number;
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly agent?: Agent;
}

/** The answer as soon as it begins. */
export async function open({ port, path, method = "POST", body, agent }: Ask): Promise<IncomingMessage> {
  const headers = { "content-type": "application/json" };
  const asked = request({ port, host: "127.0.0.1", path, method, headers, ...(agent === undefined ? undefined : { agent }) });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(asked, "response");
  if (response === undefined) throw new Error("no answer");
  return response;
}

export async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

const messages = [{ role: "user", content: "hello" }];
const OURS = post("/v1/runs", { agentId: "assistant", messages });
const PEER = post("/chat", { id: "t", messages });

/** One turn, read to its end; in ms. */
async function oneTurn({ name }: Served, wire: Wire): Promise<number> {
  const started = performance.now();
  const text = await wire.ask(name === "ours" ? OURS : PEER);
  if (!text.startsWith("HTTP/1.1 200 ") || !text.includes("word19 ") || !/DONE|run-end/.test(text))
    throw new Error(`${name}: ${text.slice(0, 500)}`);
  return performance.now() - started;
}

export interface Rate {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Processor time of the server for one of them. */
  readonly cpuUs: number;
}

const CONNECTIONS = 32;
/** On a machine with other work the warm-up ends here. */
const MAX_WARM_MS = 15_000;

async function play(server: Served, wires: readonly Wire[], isOver: (turns: number) => boolean): Promise<readonly number[]> {
  const times: number[] = [];
  const one = async (wire: Wire) => {
    while (!isOver(times.length)) times.push(await oneTurn(server, wire));
  };
  await Promise.all(wires.map(one));
  return times;
}

export interface Spell {
  /** Turns that are not counted: code that was just loaded is slow. */
  readonly warm: number;
  readonly ms: number;
}

export async function measure(server: Served, { warm, ms }: Spell): Promise<Rate> {
  const wires = await Promise.all(Array.from({ length: CONNECTIONS }, () => Wire.open(server.port)));
  const opened = performance.now();
  await play(server, wires, (turns) => turns >= warm || performance.now() - opened >= MAX_WARM_MS);
  const used = await server.cpu();
  const started = performance.now();
  const times = (await play(server, wires, () => performance.now() - started >= ms)).toSorted((a, b) => a - b);
  const took = (performance.now() - started) / 1_000;
  const cpuUs = ((await server.cpu()) - used) / times.length;
  for (const wire of wires) wire.close();
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { perSecond: times.length / took, p50: at(0.5), p99: at(0.99), cpuUs };
}
