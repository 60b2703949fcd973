import { Door } from "./door.ts";

/** One for all runtimes of the process. */
export const limits = new Door(() => import("./limited.ts"));
