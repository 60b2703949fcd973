/* What it takes to follow a run, here or elsewhere: loaded in one piece, behind the door of `relay-door.ts`. */
export { Exchange } from "./exchange.ts";
export { follow } from "./follow.ts";
