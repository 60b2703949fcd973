import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startProgram } from "../../durability/support/program.ts";
import type { ServerOrder } from "../server-process.ts";
import { type Frame, framesOf } from "./client.ts";

const FILE = join(import.meta.dirname, "../server-process.ts");

/** A server that can be killed. */
export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** As a machine that loses its power. */
  kill(): Promise<void>;
  /** As whoever runs it asks it to leave; gives its exit code. */
  terminate(): Promise<number | null>;
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  child.kill(signal);
  await once(child, "exit");
  return child.exitCode;
}

export async function startProcess(order: ServerOrder, file = FILE): Promise<ServerProcess> {
  const child = startProgram(file, order, {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const [said]: unknown[] = await once(child, "message");
  const { url, port }: { readonly url: string; readonly port: number } = Object(said);
  const kill = async () => void (await ended(child, "SIGKILL"));
  return { url, port, kill, terminate: () => ended(child, "SIGTERM"), [Symbol.asyncDispose]: kill };
}

/** A client that counts what is on record alone: what came after its last cursor is forgotten when the connection breaks. */
export class Follower {
  readonly seen: Frame[] = [];
  #open: Frame[] = [];

  get cursor(): string | undefined {
    return this.seen.at(-1)?.id;
  }

  /** What a reader of the screen has before him: what a step has said is gone when it begins anew. */
  get text(): string {
    let before = "";
    let step = "";
    for (const { data } of [...this.seen, ...this.#open]) {
      if (data.type === "text-delta") step += data.delta;
      else if (data.type === "stream-reset") step = "";
      else if (data.type === "step-start") [before, step] = [before + step, ""];
    }
    return before + step;
  }

  /** Until the frame that is wanted, the end, or the break of the connection. True when the frame came. */
  async read(response: Response, isIt: (frame: Frame, follower: Follower) => boolean): Promise<boolean> {
    this.#open = [];
    try {
      for await (const frame of framesOf(response)) {
        this.#open.push(frame);
        if (frame.id !== undefined) this.seen.push(...this.#open.splice(0));
        if (isIt(frame, this)) return true;
      }
    } catch {
      // The server is gone.
    }
    return false;
  }

  /** Goes on where it was. */
  again(url: string, run: string): Promise<Response> {
    const headers: Record<string, string> = this.cursor === undefined ? {} : { "last-event-id": this.cursor };
    return fetch(`${url}/v1/runs/${run}/events/stream`, { headers });
  }
}
