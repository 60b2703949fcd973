import { Door } from "../stream/door.ts";

/** One for all runtimes of the process. */
export const profiles = new Door(() => import("./profiles.ts"));
