import { Door } from "../stream/door.ts";

/** One for all runtimes of the process. */
export const discovery = new Door(() => import("./remote-agents.ts"));
