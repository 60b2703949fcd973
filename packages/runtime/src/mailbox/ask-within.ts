import type { Bounds } from "../stream/bounds.ts";
import type { Ask } from "./tenant-queue.ts";

export const askWithin =
  (bounds: Bounds): Ask =>
  (what, asked) =>
    bounds.wait(asked, {
      limit: "storeMs",
      onAbort: "record",
      code: "storage_io",
      name: () => `the store, which was asked to ${what},`,
    });
