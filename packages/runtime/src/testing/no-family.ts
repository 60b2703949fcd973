import { AwakenError } from "@awaken/contract";
import type { Children } from "../loop/children.ts";
import type { CallVerbs, RunTasks } from "../loop/run-tasks.ts";

const refuse = (): never => {
  throw new AwakenError("task_refused", "this run cannot start tasks");
};

const REFUSED: CallVerbs = {
  tasks: {
    ...{ spawn: refuse, spawnAgent: refuse, send: refuse, settled: refuse, get: refuse, list: refuse },
    ...{ cancel: refuse, cancelTree: refuse, cancelAll: refuse, cancelRun: refuse },
  },
  sendMessage: refuse,
};

/** For runs that can have none. */
export const NO_TASKS: RunTasks = {
  hasAny: false,
  hasRunning: false,
  ready: () => undefined,
  open: () => Promise.resolve([]),
  read: () => {},
  childOf: () => undefined,
  forCall: () => REFUSED,
  hasOutbox: false,
  deliver: () => Promise.resolve(),
  cancel: () => Promise.resolve(),
};

/** For runs that can have none. */
export const NO_CHILDREN: Children = {
  run: () => Promise.reject(new Error("this run cannot start others")),
  ready: () => undefined,
  find: () => Promise.resolve(undefined),
  tickets: () => Promise.resolve([]),
};
