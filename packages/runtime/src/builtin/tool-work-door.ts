import { Door } from "../stream/door.ts";

/** What the tools do that agents have for other agents and for tasks, loaded with the first call of one of them. */
export const toolWork = new Door(() => import("./tool-work.ts"));
