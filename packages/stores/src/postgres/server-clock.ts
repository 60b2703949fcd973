import { numberOf, type Row } from "../sql/rows.ts";

/** A column of statements that are sent anyway. */
export const SERVER_TIME = "(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS server_time";

/** Ours, which nobody can set. */
const steady = (): number => Math.floor(performance.timeOrigin + performance.now());

/**
 * The time of the server: ours, and how far that was off when the server last said. A lease that one node writes is judged by
 * others, whose clocks need not agree.
 */
export class ServerClock {
  #aheadMs = 0;

  readonly now = (): number => steady() + this.#aheadMs;

  /** Asks for rows of which the first has the time. It was so between question and answer: what fits that stays as it is. */
  async hear(ask: () => Promise<readonly Row[]>): Promise<readonly Row[]> {
    const askedAt = steady();
    const rows = await ask();
    const heardAt = steady();
    if (rows[0] === undefined) return rows;
    const time = numberOf(rows[0], "server_time");
    const [least, most] = [Math.floor(time) - heardAt - 1, Math.ceil(time) - askedAt];
    this.#aheadMs = Math.min(Math.max(this.#aheadMs, least), most);
    return rows;
  }
}
