import { setTimeout as sleep } from "node:timers/promises";
import { allow, ask, defineTool } from "awaken";
import * as z from "zod";

const SKIES = ["clear", "cloudy", "rain", "wind"];

/** The same city has the same weather, so that what you see can be compared. */
const sum = (text: string): number => [...text.toLowerCase()].reduce((total, char) => total + (char.codePointAt(0) ?? 0), 0);

export const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string().min(1) }),
  pure: true,
  async execute({ city }, { progress, signal }) {
    for (const [done, message] of ["finding the station", "asking the station", "reading the answer"].entries()) {
      progress({ progress: done / 3, message });
      await sleep(250, undefined, { signal });
    }
    return { city, sky: SKIES[sum(city) % SKIES.length] ?? "clear", tempC: (sum(city) % 25) + 3 };
  },
});

// Above 100 a person has to approve. The run waits for that as long as it takes, in the database.
export const refund = defineTool({
  id: "refund",
  description: "Refund an order",
  input: z.object({ orderId: z.string(), amount: z.number().positive().max(1_000) }),
  approve: ({ orderId, amount }) => (amount > 100 ? ask(`Refund ${amount} for order ${orderId}?`) : allow()),
  idempotent: true,
  execute: async ({ orderId, amount }) => ({ orderId, refunded: amount }),
});

export const report = defineTool({
  id: "report",
  description: "Writes a long report, page by page",
  input: z.object({ pages: z.number().int().min(1).max(50) }),
  pure: true,
  async execute({ pages }, { progress, signal }) {
    for (let page = 1; page <= pages; page += 1) {
      progress({ loaded: page, total: pages, message: "pages" });
      await sleep(700, undefined, { signal });
    }
    return { pages, title: "All is well" };
  },
});
