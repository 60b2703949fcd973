import { closedError } from "../sql/env.ts";
import type { Connection, Tx } from "./database.ts";
import type { OpenFile } from "./open-file.ts";
import type { Session, Writer } from "./session.ts";

/** One store's way to a file that others may use too. */
export class Handle implements Session {
  readonly #file: OpenFile;
  #closed: Promise<void> | undefined;

  constructor(file: OpenFile) {
    this.#file = file;
  }

  read<T>(work: (db: Connection) => T): Promise<T> {
    return this.#enter((writer) => writer.read(work));
  }

  snapshot<T>(work: (db: Connection) => T): Promise<T> {
    return this.#enter((writer) => writer.snapshot(work));
  }

  write<T>(work: (tx: Tx) => T): Promise<T> {
    return this.#enter((writer) => writer.write(work));
  }

  transaction<T>(work: (inside: Session) => Promise<T>): Promise<T> {
    return this.#enter((writer) => writer.transaction(work));
  }

  /** Waits for what is under way; idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#leave();
    return this.#closed;
  }

  async #leave(): Promise<void> {
    await this.#file.drain();
    await this.#file.leave();
  }

  #enter<T>(work: (writer: Writer) => Promise<T>): Promise<T> {
    return this.#closed === undefined ? this.#file.use(work) : Promise.reject(closedError());
  }
}
