import { once } from "node:events";
import { startProgram } from "./program.ts";

/** Another process of this machine, and what it sends. */
export interface ChildInit<T> {
  readonly file: string;
  readonly order: object;
  /** Kills it. */
  readonly signal?: AbortSignal;
  /** What is returned goes back to the child. */
  onMessage?(message: T): object | Promise<object> | undefined;
}

export type ChildEnd = { readonly type: "exit" } | { readonly type: "killed" };

/**
 * Starts a module with `order` as its argument and waits for its end. Any other end than its own exit or SIGKILL is thrown. So is what
 * `onMessage` throws: the child, which would wait for its answer for ever, is killed.
 */
export async function runChild<T>({ file, order, signal: stop, onMessage }: ChildInit<T>): Promise<ChildEnd> {
  const child = startProgram(file, order, {
    ...(stop === undefined ? undefined : { signal: stop, killSignal: "SIGKILL" }),
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const errors: string[] = [];
  child.stderr?.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  let failure: { readonly thrown: unknown } | undefined;
  child.on("message", async (message: T & object) => {
    try {
      const reply = await onMessage?.(message);
      // The child may be dead by now.
      if (reply !== undefined && child.connected) child.send(reply, () => {});
    } catch (thrown) {
      failure ??= { thrown };
      child.kill("SIGKILL");
    }
  });
  const [code, signal]: unknown[] = await once(child, "close");
  if (failure !== undefined) throw failure.thrown;
  if (signal === "SIGKILL") return { type: "killed" };
  if (code === 0) return { type: "exit" };
  throw new Error(`${file} ended with ${code ?? signal}:\n${errors.join("")}`);
}
