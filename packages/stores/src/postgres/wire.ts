import { hash, randomUUID } from "node:crypto";
import { isJsonObject, type ScopeId } from "@awaken/contract";
import type { ScopedHint } from "@awaken/contract/store";
import type { ScopedParcel } from "../parcels.ts";
import { bellKey, type Log } from "../sql/event-log.ts";
import { type Bell, Bells, type Channels, createChannels, type Ringer, type ScopedConfigKey } from "../sql/listeners.ts";
import type { Connections } from "./connections.ts";
import type { PgClient } from "./driver.ts";
import { missedHints } from "./missed-hints.ts";

/** What one process tells the others. */
type Notice =
  | { readonly type: "log"; readonly key: string }
  | { readonly type: "hint"; readonly hint: ScopedHint }
  | { readonly type: "config"; readonly change: ScopedConfigKey }
  | { readonly type: "parcel"; readonly scoped: ScopedParcel };

/** The server takes less than 8,000. */
const MAX_BYTES = 7_900;
/** Notices of so short a time are sent together. */
const PAUSE_MS = 10;
/** A notice may be lost with its process; so subscribers look by themselves now and then. */
const LOOK_MS = 5_000;
const MAX_DELAY_MS = 5_000;

const NOTIFY = { name: "awaken_notify", text: "SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text" } as const;

const ignore = () => {};

/** Logs with longer names are named by a hash. */
const MAX_NAME = 256;

function keyOf(scopeId: ScopeId, log: Log): string {
  const name = bellKey(scopeId, log);
  return name.length <= MAX_NAME ? name : hash("sha256", name, "base64url");
}

/**
 * LISTEN and NOTIFY between the processes of one schema. Notices are sent after the commit that they tell of, outside of it: inside,
 * they would make all commits of the server wait for each other.
 */
export class Wire {
  readonly #connections: Connections;
  readonly #channels: Channels = createChannels();
  /** Who is only woken: these look by themselves when they have a reason to. */
  readonly #followers = new Bells();
  /** What every message of this process begins with. */
  readonly #head = `{"origin":"${randomUUID()}","notices":[`;
  /** The JSON of notices that are to be sent. */
  readonly #waiting = new Set<string>();
  readonly #look: NodeJS.Timeout;
  #listener: PgClient | undefined;
  #isListening = false;
  #isClosed = false;
  #failures = 0;
  #sending: Promise<void> | undefined;

  constructor(connections: Connections) {
    this.#connections = connections;
    this.#look = setInterval(() => this.#channels.bells.ringAll(), LOOK_MS);
    this.#look.unref();
  }

  ring(scopeId: ScopeId, log: Log): void {
    this.#publish({ type: "log", key: keyOf(scopeId, log) });
  }

  hint(hint: ScopedHint): void {
    this.#publish({ type: "hint", hint });
  }

  configChanged(change: ScopedConfigKey): void {
    this.#publish({ type: "config", change });
  }

  /** Rings with each change of the log, in whatever process, until the answer is called. */
  follow(scopeId: ScopeId, log: Log, bell: Bell): () => void {
    this.#listen();
    return this.#channels.bells.hang(keyOf(scopeId, log), bell);
  }

  /** As `follow`, for somebody who does not want to be rung when nothing has happened. */
  wake(scopeId: ScopeId, log: Log, bell: Ringer): () => void {
    this.#listen();
    return this.#followers.hang(keyOf(scopeId, log), bell);
  }

  sendParcel(scoped: ScopedParcel): void {
    this.#publish({ type: "parcel", scoped });
  }

  parcels(receive: (scoped: ScopedParcel) => void): () => void {
    // A pool that was handed in may have no connection to spare for somebody who only might be asked something.
    if (this.#connections.canSpare) this.#listen();
    return this.#channels.parcels.listen(receive);
  }

  hints(signals: readonly AbortSignal[]): AsyncIterable<ScopedHint> {
    this.#listen();
    return this.#channels.hints.listen(signals, (hint) => hint);
  }

  configChanges(scopeId: ScopeId, signals: readonly AbortSignal[]): AsyncIterable<ScopedConfigKey["key"]> {
    this.#listen();
    return this.#channels.config.listen(signals, (change) => (change.scopeId === scopeId ? change.key : undefined));
  }

  /** Sends what is waiting, and lets go of the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#look);
    await this.#sending;
    this.#listener?.release(true);
    this.#listener = undefined;
  }

  #publish(notice: Notice): void {
    this.#deliver(notice);
    if (this.#isClosed) return;
    this.#waiting.add(JSON.stringify(notice));
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        await this.#notify();
        if (!this.#isClosed) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      // Best effort: whoever waits also looks by himself.
    } finally {
      // What came while something was lost is not lost with it.
      this.#sending = this.#waiting.size > 0 && !this.#isClosed ? this.#send() : undefined;
    }
  }

  /** What has come until there is a connection goes together. */
  async #notify(): Promise<void> {
    const client = await this.#connections.take().catch((thrown: unknown) => {
      this.#waiting.clear();
      throw thrown;
    });
    const texts = pack(this.#head, this.#waiting);
    this.#waiting.clear();
    client.on("error", ignore);
    let isSent = false;
    try {
      const { name, text } = NOTIFY;
      await client.query({ ...(this.#connections.hasSessions ? { name } : undefined), text, values: [this.#channel, texts] });
      isSent = true;
    } finally {
      client.removeListener("error", ignore);
      client.release(!isSent);
    }
  }

  get #channel(): string {
    return `awaken_${this.#connections.schema}`;
  }

  #deliver(notice: Notice): void {
    if (notice.type === "log") {
      this.#channels.bells.ring(notice.key);
      this.#followers.ring(notice.key);
    } else if (notice.type === "parcel") this.#channels.parcels.send(notice.scoped);
    else if (notice.type === "hint") this.#channels.hints.send(notice.hint);
    else this.#channels.config.send(notice.change);
  }

  #receive(text = ""): void {
    if (text.startsWith(this.#head)) return;
    const message = parse(text);
    if (!isJsonObject(message)) return;
    const notices: unknown = message["notices"];
    for (const notice of Array.isArray(notices) ? notices : []) if (isNotice(notice)) this.#deliver(notice);
  }

  #listen(): void {
    if (this.#isListening || this.#isClosed || !this.#connections.canListen) return;
    this.#isListening = true;
    this.#connect().catch(() => this.#reconnect());
  }

  async #connect(): Promise<void> {
    const client = await this.#connections.takeListener();
    if (this.#isClosed) return client.release();
    this.#listener = client;
    let isOver = false;
    const lost = () => {
      if (isOver || this.#listener !== client) return;
      isOver = true;
      this.#listener = undefined;
      client.release(true);
      this.#reconnect();
    };
    client.on("error", lost);
    client.on("end", lost);
    client.on("notification", ({ payload }) => this.#receive(payload));
    await client.query(`LISTEN ${this.#channel}`).catch(lost);
    this.#failures = 0;
    // What was told before this moment went past us.
    this.#channels.bells.ringAll();
    this.#followers.ringAll();
    // Best effort, as hints are: whoever holds a run also looks when he renews its lease.
    await this.#hintMissed().catch(ignore);
  }

  async #hintMissed(): Promise<void> {
    const client = await this.#connections.take();
    let missed: readonly ScopedHint[] | undefined;
    try {
      missed = await missedHints(client, this.#connections.schema);
    } finally {
      client.release(missed === undefined);
    }
    for (const hint of missed) this.#channels.hints.send(hint);
  }

  #reconnect(): void {
    if (this.#isClosed) return;
    const delay = Math.min(250 * 2 ** this.#failures++, MAX_DELAY_MS);
    setTimeout(() => {
      if (!this.#isClosed) this.#connect().catch(() => this.#reconnect());
    }, delay).unref();
  }
}

/** As few messages as the notices fit in, in their order: whoever hears one has the work of one. What is too long by itself is left out. */
function pack(head: string, notices: Iterable<string>): readonly string[] {
  const packed: string[] = [];
  let bytes = MAX_BYTES;
  for (const notice of notices) {
    const more = Buffer.byteLength(notice) + 1;
    if (head.length + more + 2 > MAX_BYTES) continue;
    if (bytes + more > MAX_BYTES) {
      packed.push(head + notice);
      bytes = head.length + more + 2;
    } else {
      packed[packed.length - 1] += `,${notice}`;
      bytes += more;
    }
  }
  return packed.map((text) => `${text}]}`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Only our own kind writes to the channel, but anybody may. */
function isNotice(value: unknown): value is Notice {
  if (!isJsonObject(value)) return false;
  const { type, key, hint, change, scoped } = value;
  if (type === "log") return typeof key === "string";
  if (type === "hint") return isJsonObject(hint) && typeof hint["scopeId"] === "string" && typeof hint["type"] === "string";
  if (type === "parcel") {
    if (!isJsonObject(scoped) || typeof scoped["scopeId"] !== "string") return false;
    const parcel: unknown = scoped["parcel"];
    return isJsonObject(parcel) && typeof parcel["threadId"] === "string" && isJsonObject(parcel["body"]);
  }
  return type === "config" && isJsonObject(change) && typeof change["scopeId"] === "string" && isJsonObject(change["key"]);
}
