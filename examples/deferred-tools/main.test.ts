import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("deferred tools: what was searched for is offered from the next request on", () => {
  const main = join(import.meta.dirname, "main.ts");
  const { stdout, stderr } = spawnSync(process.execPath, ["--conditions=awaken-source", main], { encoding: "utf8", timeout: 300_000 });
  expect({ stdout, stderr }).toEqual({
    stdout: [
      "request 1 of 40 tools: ToolSearch, customer_read",
      "request 2 of 40 tools: ToolSearch, customer_read, invoice_export, invoice_share",
      "request 3 of 40 tools: ToolSearch, customer_read, invoice_export, invoice_share",
      "The unpaid invoices are exported.",
      "",
    ].join("\n"),
    stderr: "",
  });
});
