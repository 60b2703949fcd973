import { isJsonObject, type JsonObject, toJson } from "@awaken/contract";
import { checkJson } from "@awaken/contract/json-schema";
import type {
  CallToolResult,
  Client,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
  Progress,
  Tool as ServerTool,
  Transport,
  VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { type Answers, capabilitiesOf, installAnswers } from "./answers.ts";
import type { Sdk } from "./load-sdk.ts";

export interface ConnectionInit {
  readonly sdk: Sdk;
  readonly transport: Transport;
  readonly answers: Answers;
  readonly era: "auto" | "2025" | "2026";
  readonly timeoutMs: number;
  /** Once, when the connection is no more. */
  readonly onClosed: (why: string) => void;
  readonly onToolsChanged: () => void;
  readonly onResourceUpdated: (uri: string) => void;
}

export interface ToolRequest {
  readonly name: string;
  readonly input: JsonObject;
  readonly meta: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

const CLIENT = { name: "awaken-mcp", version: "0.1.0" };
const PROBE_MS = 5_000;
const MAX_PAGES = 1_000;
/** Our own timers and signals end requests; the client's must not come first. */
const NEVER_MS = 2 ** 31 - 1;

const isTyped = <T>(_value: unknown): _value is T => true;

/** Schemas come from strangers: they are checked by the evaluator that ends whatever they say, and nothing is compiled to code. */
const VALIDATOR: jsonSchemaValidator = {
  getValidator<T>(schema: unknown) {
    const json = toJson(schema);
    const rules = isJsonObject(json) ? json : {};
    return (input: unknown): JsonSchemaValidatorResult<T> => {
      const checked = checkJson(rules, input);
      if (checked.type === "invalid") return { valid: false, data: undefined, errorMessage: checked.message };
      const data: unknown = checked.value;
      if (isTyped<T>(data)) return { valid: true, data, errorMessage: undefined };
      throw new TypeError("unreachable");
    };
  },
};

const MODES: Readonly<Record<ConnectionInit["era"], VersionNegotiationMode>> = {
  auto: "auto",
  "2025": "legacy",
  "2026": { pin: "2026-07-28" },
};

/** One session with one server, from the handshake to its end. */
export class Connection {
  readonly #client: Client;
  readonly #init: ConnectionInit;
  #isClosed = false;

  private constructor(client: Client, init: ConnectionInit) {
    this.#client = client;
    this.#init = init;
  }

  /** Connects, or closes the transport and throws. */
  static async open(init: ConnectionInit): Promise<Connection> {
    const { sdk, answers, transport, era, timeoutMs } = init;
    const client = new sdk.Client(CLIENT, {
      capabilities: capabilitiesOf(answers),
      jsonSchemaValidator: VALIDATOR,
      versionNegotiation: { mode: MODES[era], probe: { timeoutMs: Math.min(PROBE_MS, timeoutMs) } },
      listMaxPages: MAX_PAGES,
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => init.onToolsChanged() } },
    });
    const connection = new Connection(client, init);
    installAnswers(sdk, client, answers);
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => init.onResourceUpdated(params.uri));
    client.onclose = () => connection.#closed("the connection was closed by the server");
    try {
      await client.connect(transport, { timeout: timeoutMs });
    } catch (thrown) {
      connection.#isClosed = true;
      await transport.close();
      throw thrown;
    }
    return connection;
  }

  get protocolVersion(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }

  get capabilities(): NonNullable<ReturnType<Client["getServerCapabilities"]>> {
    return this.#client.getServerCapabilities() ?? {};
  }

  get client(): Client {
    return this.#client;
  }

  /** For whatever is asked beside calls. */
  get limits(): { readonly timeout: number } {
    return { timeout: this.#init.timeoutMs };
  }

  get hasSession(): boolean {
    return this.#init.transport.sessionId !== undefined;
  }

  #closed(why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#init.onClosed(why);
  }

  /** From below: the transport found out that the session is gone. */
  lost(why: string): void {
    this.#closed(why);
    void this.#client.close().catch(() => {});
  }

  /** All pages. */
  async listTools(): Promise<readonly ServerTool[]> {
    const { timeoutMs } = this.#init;
    const signal = AbortSignal.timeout(timeoutMs);
    const { tools } = await this.#client.listTools(undefined, { cacheMode: "refresh", timeout: timeoutMs, signal });
    return tools;
  }

  callTool({ name, input, meta, signal, onProgress }: ToolRequest): Promise<CallToolResult> {
    const params = { name, arguments: { ...input }, _meta: { ...meta } };
    return this.#client.callTool(params, { signal, timeout: NEVER_MS, onprogress: onProgress });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#client.close();
  }
}
