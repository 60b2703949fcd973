import { type ChildProcess, spawn } from "node:child_process";
import { errorMessage, type JsonObject } from "@awaken/contract";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { InOrder } from "./in-order.ts";
import { LineReader } from "./line-reader.ts";
import type { Sdk } from "./load-sdk.ts";

export interface StdioInit {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly cwd: string | undefined;
  /** Put into the handshake, for servers that look for it there. */
  readonly config: JsonObject;
  /** The longest message. */
  readonly maxBytes: number;
  /** A line that the program wrote for people. */
  readonly onLog: (line: string) => void;
}

/** After the program is gone: for what it wrote last to arrive. */
const LAST_WORDS_MS = 100;
const INTERRUPT_MS = 100;
const TERMINATE_MS = 400;
const MAX_LOG_LINE = 2_000;

const isWindows = process.platform === "win32";

/**
 * A server that we start. The client's own transport waits for seconds before it kills and leaves what the program started itself; this
 * one starts it as the leader of a group, ends the group within half a second, and notices a death at once.
 */
export class StdioTransport implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport["onmessage"];
  /** By this and `pid` the client knows that silence of a program means an old protocol, not an outage. */
  readonly stderr = null;
  readonly #init: StdioInit;
  readonly #sdk: Sdk;
  readonly #lines: LineReader;
  readonly #order = new InOrder((message) => this.onmessage?.(message));
  #child: ChildProcess | undefined;
  #isClosed = false;
  #ending: Promise<void> | undefined;

  constructor(sdk: Sdk, init: StdioInit) {
    this.#sdk = sdk;
    this.#init = init;
    this.#lines = new LineReader(init.maxBytes);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#init;
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args], {
        env,
        stdio: ["pipe", "pipe", "pipe"],
        detached: !isWindows,
        windowsHide: true,
        ...(cwd === undefined ? {} : { cwd }),
      });
      this.#child = child;
      child.once("spawn", resolve);
      child.once("error", (error) => {
        reject(new Error(`'${command}' could not be started: ${error.message}`));
        this.#closed();
      });
      child.once("exit", () => {
        setTimeout(() => this.#closed(), LAST_WORDS_MS).unref();
      });
      child.once("close", () => this.#closed());
      child.stdin.on("error", (error) => this.onerror?.(error));
      child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
      child.stderr.on("data", (chunk: Buffer) => this.#init.onLog(chunk.toString("utf8").slice(0, MAX_LOG_LINE)));
    });
  }

  #read(chunk: Buffer): void {
    try {
      for (const line of this.#lines.read(chunk)) this.#take(line);
    } catch (thrown) {
      this.onerror?.(new Error(`the server wrote a message that is too long: ${errorMessage(thrown)}`));
      void this.close();
    }
  }

  /** What is no message is left aside: programs also write for people. */
  #take(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = this.#sdk.deserializeMessage(line);
    } catch (thrown) {
      this.onerror?.(new Error(`the server wrote what is no message: ${errorMessage(thrown)}`));
      return;
    }
    this.#order.push(message);
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    void this.#order.idle().then(() => this.onclose?.());
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (this.#isClosed || !stdin?.writable) return Promise.reject(new Error("the server is gone"));
    return new Promise((resolve, reject) => {
      stdin.write(this.#sdk.serializeMessage(this.#configured(message)), (error) => (error ? reject(error) : resolve()));
    });
  }

  #configured(message: JSONRPCMessage): JSONRPCMessage {
    const { config } = this.#init;
    if (Object.keys(config).length === 0 || !("method" in message) || message.method !== "initialize") return message;
    return { ...message, params: { ...message.params, config: { ...config } } };
  }

  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** For the end of our own process, which waits for nothing. */
  kill(): void {
    this.#signal("SIGKILL");
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return this.#closed();
    const isGone = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
    const gone = isGone() ? Promise.resolve() : new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.stdin?.end();
    for (const [signal, ms] of [["SIGINT", INTERRUPT_MS] as const, ["SIGTERM", TERMINATE_MS] as const]) {
      if (isGone()) break;
      this.#signal(signal);
      await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, ms).unref())]);
    }
    // Also what the program started and did not end.
    this.#signal("SIGKILL");
    await gone;
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.destroy();
    this.#lines.clear();
    this.#closed();
  }

  #signal(signal: "SIGINT" | "SIGTERM" | "SIGKILL"): void {
    const child = this.#child;
    if (child?.pid === undefined) return;
    try {
      if (isWindows) child.kill(signal);
      else process.kill(-child.pid, signal);
    } catch {
      // Nobody is left.
    }
  }
}
