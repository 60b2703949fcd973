import { Door } from "../stream/door.ts";

/** One for all runtimes of the process. */
export const seldom = new Door(() => import("./seldom.ts"));
