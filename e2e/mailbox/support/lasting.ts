import { defineTool } from "awaken";
import * as z from "zod";

/** A tool that lasts until its run is told to stop. */
export const lasting = (onBegin: () => void) =>
  defineTool({
    id: "slow",
    description: "Lasts",
    input: z.object({}),
    idempotent: true,
    execute: async (_input, { signal }) => {
      onBegin();
      // Keeps the process alive meanwhile.
      const timer = setInterval(() => {}, 1_000);
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      clearInterval(timer);
      return "stopped";
    },
  });
