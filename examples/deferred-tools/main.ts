// Forty tools would fill every request. The model reads their names, searches for what it needs, and sees only that.
// The model is scripted, so this runs without a key; what it is offered is printed.
import { createRuntime, defineTool } from "awaken";
import { deferredTools } from "awaken/deferred-tools";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const tools = ["invoice", "customer", "order", "product"].flatMap((thing) =>
  ["list", "read", "create", "change", "delete", "export", "import", "share", "lock", "archive"].map((verb) =>
    defineTool({
      id: `${thing}_${verb}`,
      description: `To ${verb} one ${thing} or several: name them by id or by a filter, and say which fields matter. ${"Details follow. ".repeat(8)}`,
      input: z.object({ id: z.string().optional(), filter: z.string().optional() }),
      execute: () => `${verb}: ok`,
    }),
  ),
);

const model = scripted([
  toolCall("ToolSearch", { query: "+invoice export share", max_results: 2 }),
  toolCall("invoice_export", { filter: "unpaid" }),
  text("The unpaid invoices are exported."),
]);

const runtime = createRuntime({
  providers: { scripted: model },
  models: { fast: { provider: "scripted", model: "scripted-1" } },
  agents: {
    office: {
      model: "fast",
      plugins: ["deferred-tools"],
      sections: { "deferred-tools": { rules: [{ tool: "customer_read", mode: "eager" }] } },
    },
  },
  tools,
  plugins: [deferredTools()],
});

const result = await runtime.run({ agent: "office", thread: "t1", input: "Export the unpaid invoices" });
for (const [index, { tools: offered = [] }] of model.requests.entries()) {
  console.log(`request ${index + 1} of ${tools.length} tools: ${offered.map(({ id }) => id).join(", ")}`);
}
console.log(result.text);
model.assertDone();
