import type { JsonObject, JsonValue, Secret } from "@awaken/contract";

/** A folder or address that a server may work in. */
export interface McpRoot {
  /** As a URI: `file:///home/ana/project`. */
  readonly uri: string;
  /** For people. */
  readonly name?: string;
}

/** What a server asks of a model. */
export interface SamplingRequest {
  /** The conversation, as the protocol has it: `content` is one part or a list of parts. */
  readonly messages: readonly {
    /** Who said it. */
    readonly role: "user" | "assistant";
    /** `{ type: "text", text }`, or whatever else the protocol has. */
    readonly content: JsonValue;
  }[];
  /** The longest answer, in tokens. */
  readonly maxTokens: number;
  /** Instructions for the model. */
  readonly systemPrompt?: string;
  /** As the vendor takes it. */
  readonly temperature?: number;
  /** Texts at which the model shall stop. */
  readonly stopSequences?: readonly string[];
  /** Whatever else the server sent, by the protocol's names. */
  readonly rest: JsonObject;
}

/** What the model answered. */
export interface SamplingReply {
  /** Who answered, for the server. */
  readonly model: string;
  /** The answer as text. */
  readonly text: string;
  /** Why it ended. Default `endTurn`. */
  readonly stopReason?: string;
}

/** What a server wants to know of a person: a form, or an address to visit. */
export type ElicitationRequest =
  | {
      readonly type: "form";
      /** For the person. */
      readonly message: string;
      /** JSON Schema of the answer: an object of plain fields. */
      readonly schema: JsonObject;
    }
  | {
      readonly type: "url";
      /** For the person. */
      readonly message: string;
      /** Where to go. Show it; never open it unasked. */
      readonly url: string;
    };

/** What the person said. Fields that are left out of `content` take the defaults of the schema. */
export type ElicitationReply =
  | {
      readonly action: "accept";
      /** The fields of the form. */
      readonly content?: { readonly [field: string]: string | number | boolean | readonly string[] };
    }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** What the code that answers a server knows beside the question. */
export interface ServerQuestion {
  /** The id of the server. */
  readonly server: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export type SamplingHandler = (request: SamplingRequest, question: ServerQuestion) => Promise<SamplingReply>;
export type ElicitationHandler = (request: ElicitationRequest, question: ServerQuestion) => Promise<ElicitationReply>;

/** Who answers a server that asks for a model: your code, or a model of the registry by its id. `null` refuses. */
export type Sampling =
  | SamplingHandler
  | {
      /** The id of a model or pool. */
      readonly model: string;
    }
  | null;

/** What servers may ask of us. Set for all of them, or for one, which then wins. */
export interface McpAnswers {
  /** Folders that servers may work in. Default: none, and a server that asks is told so. */
  readonly roots?: readonly McpRoot[];
  /** Who answers when a server asks for a model. Default: nobody. `null` for a server refuses also when there is one for all. */
  readonly sampling?: Sampling;
  /** Who answers when a server asks a person. Default: nobody. */
  readonly elicitation?: ElicitationHandler | null;
}

/** How a lost connection is made again. */
export interface McpRestartPolicy {
  /** False means the default: five attempts, after 1, 2, 4, 8 and 16 seconds. */
  readonly enabled?: boolean;
  /** `null` is no limit. */
  readonly maxAttempts?: number | null;
  /** Before the first attempt. */
  readonly delayMs?: number;
  /** What each delay is multiplied with for the next. */
  readonly backoffMultiplier?: number;
  /** No delay is longer. */
  readonly maxDelayMs?: number;
}

interface McpServerShared extends McpAnswers {
  /** For connecting, listing, and a call that makes no progress. Default 30. */
  readonly timeoutSecs?: number;
  /** How a lost connection is made again. */
  readonly restartPolicy?: McpRestartPolicy;
  /** Which protocol to speak. Default `auto`: 2026-07-28 when the server has it, else a session of 2025. */
  readonly era?: "auto" | "2025" | "2026";
  /** Trust what the server says of its tools: `readOnlyHint` makes one pure, `idempotentHint` idempotent. Default false. */
  readonly trustHints?: boolean;
}

/** A server that we start and speak to through its pipes. */
export interface McpStdioServer extends McpServerShared {
  /** May be left out. */
  readonly type?: "stdio";
  /** The program. */
  readonly command: string;
  /** What it is started with. */
  readonly args?: readonly string[];
  /** Variables for it, beside `PATH`, `HOME`, `LANG`, `TMPDIR` and what the platform needs. Nothing else of ours reaches it. */
  readonly env?: { readonly [name: string]: string | Secret };
  /** Where it starts. Default: where we are. */
  readonly cwd?: string;
}

/** A server at an address, over Streamable HTTP. */
export interface McpHttpServer extends McpServerShared {
  /** May be left out. */
  readonly type?: "http";
  /** Of its endpoint. */
  readonly url: string;
  /** Sent with every request. */
  readonly headers?: { readonly [name: string]: string | Secret };
}

export type McpServerInput = McpStdioServer | McpHttpServer;

export interface McpOptions extends McpAnswers {
  /** By id, as in the `mcpServers` of other programs. */
  readonly servers: { readonly [id: string]: McpServerInput };
  /** The name that agents list in `plugins`. Default `mcp`. */
  readonly id?: string;
  /** Who answers when a server asks for a model while an agent's call is under way, by agent. `null` refuses. */
  readonly samplingByAgent?: { readonly [agent: string]: Sampling };
  /** Lists tools again this often, for servers that do not tell of changes. Default: never. */
  readonly refreshMs?: number;
}

export type McpState = "connecting" | "connected" | "reconnecting" | "disconnected" | "disabling" | "disabled" | "permanently_failed";

/** How a server is. */
export interface McpStatus {
  /** As in the options. */
  readonly id: string;
  /** A program that we started, or an address. */
  readonly transport: "stdio" | "http";
  /** `disconnected`: it was never there, and is tried again. `permanently_failed`: it is not tried any more. */
  readonly state: McpState;
  /** Why the last attempt or call failed; undefined when all is well. */
  readonly lastError: string | undefined;
  /** Ids of its tools, as agents know them. */
  readonly tools: readonly string[];
  /** Tools that agents do not get, and why. */
  readonly leftOut: readonly {
    /** As the server names it. */
    readonly tool: string;
    /** Why it cannot be had. */
    readonly reason: string;
  }[];
  /** Calls and listings that failed since the last that did not. Three of them make the connection anew. */
  readonly consecutiveFailures: number;
  /** Unix milliseconds; undefined before the first. */
  readonly lastAttemptAt: number | undefined;
  /** Of the last connection, listing or call that worked. */
  readonly lastSuccessAt: number | undefined;
  /** Of the last connection that was made. */
  readonly lastInitAt: number | undefined;
  /** How many connections were made. */
  readonly sessionGeneration: number;
  /** How many of them because one was lost. */
  readonly transportReconnectCount: number;
  /** What was agreed on, while connected. */
  readonly protocolVersion: string | undefined;
}

export interface McpPrompt {
  /** What it is asked for by. */
  readonly name: string;
  /** For people. */
  readonly title: string | undefined;
  /** What it is for. */
  readonly description: string | undefined;
  /** What it takes. */
  readonly arguments: readonly {
    /** What it is given by. */
    readonly name: string;
    /** What it is for. */
    readonly description: string | undefined;
    /** Whether the prompt needs it. */
    readonly required: boolean;
  }[];
}

export interface McpResource {
  /** What it is read by. */
  readonly uri: string;
  /** For people. */
  readonly name: string;
  /** What is in it. */
  readonly description: string | undefined;
  /** Like `text/plain`, where the server tells it. */
  readonly mimeType: string | undefined;
}

/** Either text or bytes in base64. */
export interface McpResourceContents {
  /** What was read. */
  readonly uri: string;
  /** Like `text/plain`, where the server tells it. */
  readonly mimeType: string | undefined;
  /** Undefined for bytes. */
  readonly text: string | undefined;
  /** The bytes in base64; undefined for text. */
  readonly blob: string | undefined;
}

/** The servers of an `mcp` plugin, for whoever shows or steers them. */
export interface McpServers {
  /** In the order of the options. */
  status(): readonly McpStatus[];
  /** Makes the connection anew, also one that was given up. Resolves when it is there or has failed: see `status`. */
  restart(server: string): Promise<void>;
  /** Closes the connection; its tools are gone for runs that start later. */
  disable(server: string): Promise<void>;
  /** Takes a disabled server in again. */
  enable(server: string): Promise<void>;
  /** Lists the tools of a server again. */
  refresh(server: string): Promise<void>;
  /** Empty for a server without prompts. */
  listPrompts(server: string): Promise<readonly McpPrompt[]>;
  /** The text of a prompt: its messages, one after the other. */
  getPrompt(server: string, name: string, args?: { readonly [name: string]: string }): Promise<string>;
  /** Empty for a server without resources. */
  listResources(server: string): Promise<readonly McpResource[]>;
  /** What is in a resource; one address may lead to several. */
  readResource(server: string, uri: string): Promise<readonly McpResourceContents[]>;
  /** Calls `onUpdate` when the server says that the resource changed, until the returned function is called. */
  subscribe(server: string, uri: string, onUpdate: (uri: string) => void): Promise<() => Promise<void>>;
  /** What a prompt's argument may be completed to. Empty for a server that cannot. */
  complete(server: string, prompt: string, argument: string, value: string): Promise<readonly string[]>;
}
