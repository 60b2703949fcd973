import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import { withSchemas } from "../state/late-schema.ts";

/** With what makes the tickets of calls that wait: where one is there, so is the other. For the doors of those above, which hand them down. */
export async function openSeldom(): Promise<typeof import("./seldom.ts")> {
  await commitSeldom.open();
  return withSchemas(() => import("./seldom.ts"));
}
