import { pendingWorkSchema } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";

/** Whether something in the background will still have news for this run. A plugin says so at `stepEnd`; read at the natural end. */
export const pendingWork = defineRuntimeState("pending_work", {
  schema: pendingWorkSchema,
  initial: () => ({ hasPending: false }),
  apply: (_value, hasPending: boolean) => ({ hasPending }),
});
