import type { Row } from "../sql/rows.ts";
import type { Tx } from "./attempt.ts";
import type { Statement } from "./statement.ts";

/** Statements that are sent together, and what to do with their rows. */
export class Questions {
  readonly #asked: { readonly statement: Statement; readonly answer: (rows: readonly Row[]) => void }[] = [];

  /** Nothing is asked, and nothing found, without a statement. */
  ask<T>(statement: Statement | undefined, read: (rows: readonly Row[]) => T): () => T {
    let rows: readonly Row[] = [];
    const answer = (found: readonly Row[]) => {
      rows = found;
    };
    if (statement !== undefined) this.#asked.push({ statement, answer });
    return () => read(rows);
  }

  async send(tx: Tx): Promise<void> {
    const answers = await tx.read(...this.#asked.map(({ statement }) => statement));
    for (const [index, { answer }] of this.#asked.entries()) answer(answers[index] ?? []);
  }
}
