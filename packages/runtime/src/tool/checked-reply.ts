import { type Schema, validate } from "@awaken/contract";
import type { Bounds, Work } from "../stream/bounds.ts";
import { Reply } from "./plain-reply.ts";
import { toolData } from "./tool-data.ts";

/** The tool has done its work: an abort gives its schema the time that it gives the tool. */
export async function checkedReply<O>(id: string, output: Schema<O>, returned: O, bounds: Bounds | undefined): Promise<Reply> {
  const checking = validate(output, returned);
  const isBound = checking instanceof Promise && bounds !== undefined;
  const work: Work = { limit: "schemaMs", onAbort: "grace", name: () => `the output schema of tool '${id}'` };
  const checked = await (isBound ? bounds.wait(checking, work) : checking);
  if (checked.type === "valid") return new Reply({ type: "success", data: toolData(id, checked.value) }, undefined);
  return new Reply(
    { type: "error", code: "internal", message: `Internal error: the tool's output does not fit: ${checked.message}` },
    undefined,
  );
}
