import { Door } from "../stream/door.ts";

/** Needed by agents with a context policy, and where a model refuses a request as too long. */
export const fitting = new Door(() => import("./fitting.ts"));

export type FittingRoom = Awaited<ReturnType<typeof fitting.open>>;
