import { once } from "node:events";
import { createServer, Socket } from "node:net";
import pg from "pg";
import { serverUrl } from "./test-server.ts";

// A pooler in transaction mode, over loopback: each transaction of a client goes to another connection of the server.

export interface Pooler {
  readonly url: string;
  /** Transactions that were handed out, and to how many connections of the server. */
  readonly transactions: number;
  readonly used: number;
  /** Names of statements that clients prepared; unnamed ones are not here. */
  readonly named: readonly string[];
  /** What connections of the server have kept of their clients, as the server tells it. */
  leftovers(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/** Splits a stream into messages: a letter, a length and a body. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);

  *read(data: Buffer): Generator<Buffer> {
    this.#rest = Buffer.concat([this.#rest, data]);
    while (this.#rest.length >= 5) {
      const length = 1 + this.#rest.readInt32BE(1);
      if (this.#rest.length < length) return;
      yield this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
    }
  }
}

const letterOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);

function message(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter, 0, "latin1");
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const READY = message("Z", Buffer.from("I"));
const WELCOME = Buffer.concat([
  message("R", Buffer.alloc(4)),
  ...["server_version\0" + "17.0\0", "client_encoding\0UTF8\0", "standard_conforming_strings\0on\0"].map((text) =>
    message("S", Buffer.from(text)),
  ),
  READY,
]);

/** A connection of the server, used for one transaction after the other. */
class Backend {
  readonly #socket: Socket;
  #answer: { readonly take: (data: Buffer) => void; readonly done: (isIdle: boolean) => void } | undefined;
  count = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    const messages = new Messages();
    socket.removeAllListeners();
    socket.on("error", () => socket.destroy());
    socket.on("data", (data: Buffer) => {
      for (const each of messages.read(data)) {
        this.#answer?.take(each);
        if (letterOf(each) === "Z") this.#answer?.done(each[5] === 0x49);
      }
    });
  }

  /** One request up to its end; true when the connection is in no transaction then. */
  ask(request: Buffer, take: (data: Buffer) => void): Promise<boolean> {
    return new Promise((done) => {
      this.#answer = { take, done };
      this.#socket.write(request);
    });
  }

  end(): void {
    this.#socket.destroy();
  }
}

class Backends {
  readonly all: Backend[] = [];
  readonly #free: Backend[] = [];
  readonly #waiting: ((backend: Backend) => void)[] = [];

  add(backend: Backend): void {
    this.all.push(backend);
    this.#free.push(backend);
  }

  /** The one that was not used for the longest time. */
  async take(): Promise<Backend> {
    const backend = this.#free.shift() ?? (await new Promise<Backend>((resolve) => this.#waiting.push(resolve)));
    backend.count++;
    return backend;
  }

  give(backend: Backend): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(backend);
    else next(backend);
  }
}

function serve(client: Socket, backends: Backends, named: string[]): void {
  const messages = new Messages();
  const requests: Buffer[] = [];
  let [open, isGreeted, isBusy]: [Buffer[], boolean, boolean] = [[], false, false];
  const work = async () => {
    if (isBusy) return;
    isBusy = true;
    let backend: Backend | undefined;
    for (let request = requests.shift(); request !== undefined || backend !== undefined; request = requests.shift()) {
      if (request === undefined) {
        // In a transaction: the rest of it is still to come.
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (client.destroyed && backend !== undefined) {
          await backend.ask(message("Q", Buffer.from("ROLLBACK\0")), () => {});
          backends.give(backend);
          backend = undefined;
        }
        continue;
      }
      backend ??= await backends.take();
      const isIdle = await backend.ask(request, (data) => client.write(data));
      if (!isIdle) continue;
      backends.give(backend);
      backend = undefined;
    }
    isBusy = false;
  };
  client.on("error", () => client.destroy());
  client.on("data", (data: Buffer) => {
    if (!isGreeted) {
      // 80877103 asks for TLS.
      if (data.readInt32BE(4) === 80_877_103) return void client.write("N");
      isGreeted = true;
      return void client.write(WELCOME);
    }
    for (const each of messages.read(data)) {
      const letter = letterOf(each);
      if (letter === "X") return void client.end();
      const name = letter === "P" ? each.subarray(5, each.indexOf(0, 5)).toString() : "";
      if (name !== "") named.push(name);
      open.push(each);
      if (letter !== "Q" && letter !== "S") continue;
      requests.push(Buffer.concat(open));
      open = [];
    }
    void work();
  });
}

/** What a connection may keep when a transaction is over. */
const LEFT = `SELECT (SELECT count(*)::int FROM pg_prepared_statements) AS prepared, (SELECT count(*)::int FROM pg_listening_channels()) AS channels,
  (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks, current_setting('lock_timeout') AS lock_timeout,
  current_setting('idle_in_transaction_session_timeout') AS idle_timeout, current_setting('transaction_isolation') AS isolation`;

const textsOf = (row: Buffer): readonly string[] => {
  const texts: string[] = [];
  for (let [at, left] = [7, row.readInt16BE(5)]; left > 0; left--) {
    const length = row.readInt32BE(at);
    texts.push(row.subarray(at + 4, at + 4 + length).toString());
    at += 4 + length;
  }
  return texts;
};

export async function startPooler(size = 4): Promise<Pooler> {
  const url = new URL(await serverUrl());
  const backends = new Backends();
  for (let count = 0; count < size; count++) {
    // Somebody else does the handshake; afterwards the socket is ours.
    const login = new pg.Client({ connectionString: url.href });
    await login.connect();
    const stream: unknown = Reflect.get(Reflect.get(login, "connection"), "stream");
    if (!(stream instanceof Socket)) throw new Error("a connection of pg has no socket");
    backends.add(new Backend(stream));
  }
  const named: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    serve(client, backends, named);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const own = new URL(url);
  own.port = String(typeof address === "object" ? address?.port : "");
  return {
    url: own.href,
    get transactions() {
      return backends.all.reduce((sum, { count }) => sum + count, 0);
    },
    get used() {
      return backends.all.filter(({ count }) => count > 0).length;
    },
    named,
    async leftovers() {
      const found: unknown[] = [];
      // When nobody is in the middle of something.
      const idle = await Promise.all(backends.all.map(() => backends.take()));
      for (const backend of idle) {
        await backend.ask(message("Q", Buffer.from(`${LEFT}\0`)), (data) => {
          if (letterOf(data) === "D") found.push(textsOf(data));
        });
        backends.give(backend);
      }
      return found;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      for (const backend of backends.all) backend.end();
      server.close();
      await once(server, "close");
    },
  };
}
