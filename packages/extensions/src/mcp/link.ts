import { errorMessage, type Log } from "@awaken/contract";
import type { Clock } from "@awaken/runtime";
import type { Tool as ServerTool } from "@modelcontextprotocol/client";
import type { Answers } from "./answers.ts";
import type { Connection } from "./connection.ts";
import { secretsHidden } from "./hide-secrets.ts";
import type { Sdk } from "./load-sdk.ts";
import { type Begun, openConnection } from "./open-connection.ts";
import { reconnectPolicy } from "./reconnect-policy.ts";
import type { ServerSetup } from "./setup.ts";
import type { McpState, McpStatus } from "./types.ts";

export interface LinkInit {
  readonly sdk: Sdk;
  readonly clock: Clock;
  readonly log: Log;
  readonly setup: ServerSetup;
  readonly answers: Answers;
  /** The connection stands, and these are its tools. */
  readonly onTools: (listed: readonly ServerTool[]) => void;
  /** It was given up. */
  readonly onGone: () => void;
  readonly onToolsChanged: () => void;
  readonly onResourceUpdated: (uri: string) => void;
}

const MAX_FAILURES = 3;
const MAX_WORDS = 500;

type LinkFacts = Omit<McpStatus, "id" | "transport" | "tools" | "leftOut">;

/** The way to one server: a connection that is made again when it is lost, until it is given up. */
export class Link {
  readonly #id: string;
  readonly #init: LinkInit;
  /** A text of the server as others may read it. */
  readonly shown: (text: string) => string;
  #state: McpState = "disconnected";
  #connection: Connection | undefined;
  #begun: Begun | undefined;
  #failures = 0;
  #generation = 0;
  #reconnects = 0;
  #lastError: string | undefined;
  #lastAttemptAt: number | undefined;
  #lastSuccessAt: number | undefined;
  #lastInitAt: number | undefined;
  #lastWords = "";
  /** Rises when whatever is under way shall come to nothing: a restart, a stop. */
  #turn = 0;
  #stopTimer = () => {};
  #renewing: Promise<void> | undefined;

  constructor(init: LinkInit) {
    this.#id = init.setup.spec.id;
    this.#init = init;
    this.shown = secretsHidden(init.setup.spec);
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  get state(): McpState {
    return this.#state;
  }

  /** Why there is no connection, in words. */
  absence(): string {
    const why = this.#lastError === undefined ? "" : `: ${this.#lastError}`;
    return `MCP server '${this.#id}' is not connected (${this.#state})${why}`;
  }

  facts(): LinkFacts {
    return {
      state: this.#state,
      lastError: this.#lastError,
      consecutiveFailures: this.#failures,
      lastAttemptAt: this.#lastAttemptAt,
      lastSuccessAt: this.#lastSuccessAt,
      lastInitAt: this.#lastInitAt,
      sessionGeneration: this.#generation,
      transportReconnectCount: this.#reconnects,
      protocolVersion: this.#connection?.protocolVersion,
    };
  }

  /** The first attempt. Never rejects: a server that is not there is tried again. */
  async open(): Promise<void> {
    this.#state = "connecting";
    this.#failures = 0;
    const turn = this.#turn;
    const isThere = await this.#connect(turn);
    if (isThere || turn !== this.#turn) return;
    this.#init.log.warn(`MCP server '${this.#id}' could not be connected: ${this.#lastError}`, { server: this.#id });
    this.#retry(turn, 1, "disconnected");
  }

  /** Ends what is there; what is under way comes to nothing. In the one state while it ends, in the other afterwards. */
  async drop(during: McpState, after: McpState = during): Promise<void> {
    this.#turn += 1;
    this.#stopTimer();
    this.#state = during;
    const turn = this.#turn;
    const connection = this.#connection;
    const begun = this.#begun;
    this.#connection = undefined;
    this.#begun = undefined;
    await connection?.close().catch(() => {});
    // Also one that was started and is not connected yet.
    await begun?.close();
    if (turn === this.#turn) this.#state = after;
  }

  /** At the end of the process, which waits for nothing. */
  kill(): void {
    this.#begun?.kill();
  }

  /** True when the connection stands and its tools are listed. */
  async #connect(turn: number): Promise<boolean> {
    const { clock } = this.#init;
    this.#lastAttemptAt = clock.now();
    this.#lastWords = "";
    let opened: Connection | undefined;
    try {
      opened = await this.#open(turn);
      const listed = await opened.listTools();
      if (turn !== this.#turn) throw new Error("it was stopped");
      this.#connection = opened;
      this.#generation += 1;
      this.#lastInitAt = clock.now();
      this.#state = "connected";
      this.succeeded();
      this.#init.onTools(listed);
      return true;
    } catch (thrown) {
      await opened?.close().catch(() => {});
      if (turn === this.#turn) this.#lastError = this.#withWords(errorMessage(thrown));
      return false;
    }
  }

  #open(turn: number): Promise<Connection> {
    const { sdk, clock, setup, answers, onToolsChanged, onResourceUpdated } = this.#init;
    const onLog = (line: string) => {
      this.#lastWords = `${this.#lastWords}${line}`.slice(-MAX_WORDS);
    };
    const isWanted = () => turn === this.#turn;
    const onStarted = (begun: Begun) => {
      if (isWanted()) this.#begun = begun;
    };
    const onClosed = (why: string) => this.#lost(turn, why);
    return openConnection({ sdk, setup, answers, clock, onClosed, onToolsChanged, onResourceUpdated, onLog, onStarted, isWanted });
  }

  /** What a program wrote for people is mostly the reason why it left. */
  #withWords(why: string): string {
    const words = this.#lastWords.trim();
    return this.shown(words === "" ? why : `${why}; it wrote: ${words}`);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#lastError = undefined;
    this.#lastSuccessAt = this.#init.clock.now();
  }

  /** A listing or call that failed for other reasons than the server's word. */
  failed(connection: Connection, why: string): void {
    if (this.#connection !== connection) return;
    this.#failures += 1;
    this.#lastError = this.shown(why);
    if (this.#failures < MAX_FAILURES) return;
    this.#connection = undefined;
    void connection.close().catch(() => {});
    this.#retry(this.#turn, 1, "reconnecting");
  }

  #retry(turn: number, attempt: number, state: McpState): void {
    const { clock, log, setup, onGone } = this.#init;
    const policy = reconnectPolicy(setup.spec);
    if (attempt > policy.maxAttempts) {
      this.#state = "permanently_failed";
      log.error(`MCP server '${this.#id}' is given up after ${policy.maxAttempts} attempts: ${this.#lastError}`, { server: this.#id });
      onGone();
      return;
    }
    this.#state = state;
    this.#stopTimer = clock.timer(policy.delayMs(attempt), async () => {
      const isBack = await this.#connect(turn);
      if (turn !== this.#turn) return;
      if (isBack) this.#reconnects += 1;
      else this.#retry(turn, attempt + 1, state);
    });
  }

  #lost(turn: number, why: string): void {
    if (turn !== this.#turn || this.#connection === undefined) return;
    this.#lastError = this.#withWords(why);
    this.#init.log.warn(`MCP server '${this.#id}' was lost: ${this.#lastError}`, { server: this.#id });
    this.#connection = undefined;
    void this.#begun?.close();
    this.#retry(turn, 1, "reconnecting");
  }

  /** Another session in the place of one that expired. Those who find it gone at the same time share the new one. */
  async renewed(connection: Connection): Promise<void> {
    if (this.#connection === connection) {
      this.#renewing ??= this.#renew(connection).finally(() => {
        this.#renewing = undefined;
      });
    }
    await this.#renewing;
  }

  async #renew(connection: Connection): Promise<void> {
    this.#connection = undefined;
    this.#state = "reconnecting";
    void connection.close().catch(() => {});
    const turn = this.#turn;
    const isBack = await this.#connect(turn);
    if (isBack) this.#reconnects += 1;
    else if (turn === this.#turn) this.#retry(turn, 1, "reconnecting");
  }
}
