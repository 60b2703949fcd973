/* What it takes to follow a run, here or elsewhere: loaded in one piece, behind the door of `relay-door.ts`. */
export { attached, followLeft } from "./attach.ts";
export { Relay } from "./relay.ts";
