import { errorMessage, type JsonObject, type Log } from "@awaken/contract";
import type { Clock, Tool } from "@awaken/runtime";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import type { Caller, CallOrder, CallOutcome } from "./caller.ts";
import { sendCall } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { Link } from "./link.ts";
import type { Sdk } from "./load-sdk.ts";
import { type FindModel, samplerOf } from "./sampling.ts";
import { type LeftOut, serverTools } from "./server-tool.ts";
import type { ServerSetup } from "./setup.ts";
import type { McpStatus, Sampling } from "./types.ts";

export interface ServerParts {
  readonly sdk: Sdk;
  readonly clock: Clock;
  readonly log: Log;
  readonly findModel: FindModel;
  readonly samplingByAgent: { readonly [agent: string]: Sampling };
  /** Its list of tools is another one now. */
  readonly onChanged: () => void;
}

const FACE_MS = 500;
const NO_TOOLS: readonly Tool[] = Object.freeze([]);
const NOBODY_KNOWS = "Whether the call took effect is not known.";

/** One server: the tools that it had last, and the way to it. */
export class Server implements Caller {
  readonly id: string;
  readonly #setup: ServerSetup;
  readonly #parts: ServerParts;
  readonly #link: Link;
  readonly #calls = new Set<CallOrder>();
  readonly #listeners = new Set<(uri: string) => void>();
  #tools = NO_TOOLS;
  #names: ReadonlySet<string> = new Set();
  #leftOut: readonly LeftOut[] = [];
  /** What was logged of tools that are left out: each once, however often the list is read. */
  readonly #said = new Set<string>();
  #refreshing: Promise<void> | undefined;
  #isStale = false;

  constructor(setup: ServerSetup, parts: ServerParts) {
    const { sdk, clock, log, findModel: find, samplingByAgent: byAgent } = parts;
    this.id = setup.spec.id;
    this.#setup = setup;
    this.#parts = parts;
    const agents = () => [...this.#calls].map(({ agent }) => agent);
    const { roots, elicitation, sampling: fixed } = setup;
    this.#link = new Link({
      sdk,
      clock,
      log,
      setup,
      answers: {
        server: this.id,
        roots,
        elicitation,
        sampling: samplerOf({ fixed, byAgent, find, agents }),
        onFailure: (why) => log.warn(`what MCP server '${setup.spec.id}' asked could not be answered: ${why}`, { server: setup.spec.id }),
      },
      onTools: (listed) => this.#take(listed),
      onGone: () => this.#publish(NO_TOOLS, [], new Set()),
      onToolsChanged: () => void this.refresh(),
      onResourceUpdated: (uri) => {
        for (const listener of this.#listeners) listener(uri);
      },
    });
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  /** Throws when there is none. */
  get connection(): Connection {
    const { connection } = this.#link;
    if (connection !== undefined) return connection;
    throw new Error(this.#link.absence());
  }

  status(): McpStatus {
    const tools = this.#tools.map(({ id }) => id);
    return { id: this.id, transport: this.#setup.spec.type, ...this.#link.facts(), tools, leftOut: this.#leftOut };
  }

  async open(): Promise<void> {
    await this.#link.open();
  }

  async restart(): Promise<void> {
    await this.#link.drop("connecting");
    await this.#link.open();
  }

  async disable(): Promise<void> {
    const ending = this.#link.drop("disabling", "disabled");
    this.#publish(NO_TOOLS, [], new Set());
    await ending;
  }

  async enable(): Promise<void> {
    if (this.#link.state === "disabled") await this.restart();
  }

  async close(): Promise<void> {
    await this.#link.drop("disconnected");
  }

  kill(): void {
    this.#link.kill();
  }

  /** Calls it with each resource that the server says has changed, until the returned function is called. */
  onResourceUpdated(listener: (uri: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #take(listed: readonly ServerTool[]): void {
    const { spec, trustHints } = this.#setup;
    const { tools, leftOut } = serverTools({ server: this.id, transport: spec.type, trustHints, caller: this }, listed);
    this.#publish(tools, leftOut, new Set(listed.map(({ name }) => name)));
  }

  #publish(tools: readonly Tool[], leftOut: readonly LeftOut[], names: ReadonlySet<string>): void {
    this.#tools = tools;
    this.#leftOut = leftOut;
    this.#names = names;
    for (const { tool, reason } of leftOut) {
      if (this.#said.has(`${tool} ${reason}`)) continue;
      this.#said.add(`${tool} ${reason}`);
      this.#parts.log.warn(`tool '${tool}' of MCP server '${this.id}' is left out: ${reason}`, { server: this.id });
    }
    this.#parts.onChanged();
  }

  /** One listing at a time: what changes while it runs makes one more. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    for (let { connection } = this.#link; this.#isStale && connection !== undefined; { connection } = this.#link) {
      this.#isStale = false;
      try {
        const listed = await connection.listTools();
        if (this.#link.connection !== connection) return;
        this.#link.succeeded();
        this.#take(listed);
      } catch (thrown) {
        this.#link.failed(connection, errorMessage(thrown));
      }
    }
  }

  async call(order: CallOrder): Promise<CallOutcome> {
    const { connection } = this.#link;
    if (connection === undefined) return { type: "failed", code: "execution_failed", message: this.#link.absence() };
    if (!this.#names.has(order.tool)) {
      return { type: "failed", code: "not_found", message: `MCP server '${this.id}' has no tool '${order.tool}' any more` };
    }
    this.#calls.add(order);
    try {
      return await this.#call(connection, order);
    } finally {
      this.#calls.delete(order);
    }
  }

  async #call(first: Connection, order: CallOrder): Promise<CallOutcome> {
    const { sdk, clock } = this.#parts;
    const parts = { sdk, clock, timeoutMs: this.#setup.spec.timeoutSecs * 1_000 };
    let connection = first;
    let sent = await sendCall(parts, connection, order);
    if (sent.type === "expired") {
      await this.#link.renewed(connection);
      if (this.#link.connection === undefined) return { type: "failed", code: "execution_failed", message: this.#link.absence() };
      connection = this.#link.connection;
      sent = await sendCall(parts, connection, order);
    }
    switch (sent.type) {
      case "answered":
        this.#link.succeeded();
        return sent;
      case "failed":
        return { ...sent, message: this.#link.shown(sent.message) };
      case "expired":
        return this.#broken(connection, "execution_failed", "the session expired again");
      case "broken":
        return this.#broken(connection, sent.code, sent.why);
    }
  }

  #broken(connection: Connection, code: "timeout" | "execution_failed", why: string): CallOutcome {
    this.#link.failed(connection, why);
    return {
      type: "failed",
      code,
      message: `MCP server '${this.id}' did not bring the call to its end: ${this.#link.shown(why)}. ${NOBODY_KNOWS}`,
    };
  }

  async readFace(uri: string): Promise<JsonObject> {
    try {
      const { contents } = await this.connection.client.readResource({ uri }, { timeout: FACE_MS });
      const [first] = contents;
      if (first === undefined || !("text" in first)) return {};
      return { "mcp.ui.resourceUri": uri, "mcp.ui.content": first.text, "mcp.ui.mimeType": first.mimeType ?? "text/html" };
    } catch {
      return {};
    }
  }
}
