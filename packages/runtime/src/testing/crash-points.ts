import type { AgentEvent } from "@awaken/contract";
import type { PreparedCall, Tool } from "../tool/tool.ts";

/** Where a process may die. Around a commit there are two places: nothing of it is there yet, or all of it and nobody heard. */
export const CRASH_POINTS = ["commit-start", "commit-end", "emit", "tool-start", "tool-end"] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** The process is gone: what still runs of it in a test gets this from everything that it touches. */
export class CrashError extends Error {
  override readonly name = "CrashError";
}

export interface CrashPlan {
  readonly at: CrashPoint;
  /** At the n-th time, from 1. */
  readonly nth: number;
  /**
   * `throw`: this process plays dead from there on, so that a later activation finds what a crash would have left. `kill`: it dies;
   * how is handed in, because a runtime without processes has no word for it: `() => process.kill(process.pid, "SIGKILL")`.
   */
  readonly mode: "throw" | { readonly kill: () => void };
}

type Write = (...args: never[]) => Promise<unknown>;

/** Wraps what a run touches the world with, and lets it crash at one point. Without a plan it only counts. */
export interface CrashPoints {
  /** A store or any object: its methods of these names count as commits. The rest of it stays reachable. */
  commits<T extends object>(port: T, ...methods: readonly (keyof T & string)[]): T;
  /** A listener. In mode `throw` it never throws into the run: what comes after the crash is not heard. */
  emits(listen: (event: AgentEvent) => void): (event: AgentEvent) => void;
  tools(tools: readonly Tool[]): readonly Tool[];
  readonly hasCrashed: boolean;
  /** How often each point was passed. Run once without a plan to learn how many there are. */
  readonly counts: Readonly<Record<CrashPoint, number>>;
}

export function crashPoints(plan?: CrashPlan): CrashPoints {
  const counts: Record<CrashPoint, number> = { "commit-start": 0, "commit-end": 0, emit: 0, "tool-start": 0, "tool-end": 0 };
  let hasCrashed = false;
  const dead = () => new CrashError(`crashed at ${plan?.at} ${plan?.nth}`);
  /** False from the crash on. */
  const survives = (point: CrashPoint): boolean => {
    if (hasCrashed) return false;
    counts[point] += 1;
    if (plan?.at !== point || plan.nth !== counts[point]) return true;
    hasCrashed = true;
    if (plan.mode !== "throw") plan.mode.kill();
    return false;
  };
  const pass = (point: CrashPoint): void => {
    if (!survives(point)) throw dead();
  };
  const around = async <R>(start: CrashPoint, end: CrashPoint, work: () => Promise<R>): Promise<R> => {
    pass(start);
    const result = await work();
    pass(end);
    return result;
  };
  return {
    counts,
    get hasCrashed() {
      return hasCrashed;
    },
    commits<T extends object>(port: T, ...methods: readonly (keyof T & string)[]): T {
      const named = new Set<string | symbol>(methods);
      return new Proxy(port, {
        get(target, name) {
          const found: unknown = Reflect.get(target, name, target);
          if (typeof found !== "function") return found;
          const call: Write = (...args) => Reflect.apply(found, target, args);
          return named.has(name) ? (...args: never[]) => around("commit-start", "commit-end", () => call(...args)) : call;
        },
      });
    },
    emits: (listen) => (event) => {
      if (survives("emit")) listen(event);
    },
    tools: (tools) => tools.map((tool) => wrapTool(tool, (work) => around("tool-start", "tool-end", work))),
  };
}

type Around = <R>(work: () => Promise<R>) => Promise<R>;

function wrapTool(tool: Tool, around: Around): Tool {
  const wrap = (call: PreparedCall): PreparedCall => ({
    get input() {
      return call.input;
    },
    approve: (scene) => call.approve(scene),
    reconcile: (context) => call.reconcile(context),
    execute: (context) => around(() => call.execute(context)),
  });
  return {
    id: tool.id,
    get descriptor() {
      return tool.descriptor;
    },
    traits: tool.traits,
    prepare(input) {
      const accept = (checked: Awaited<ReturnType<Tool["prepare"]>>) =>
        checked.type === "valid" ? { type: "valid" as const, value: wrap(checked.value) } : checked;
      const checked = tool.prepare(input);
      return checked instanceof Promise ? checked.then(accept) : accept(checked);
    },
  };
}
