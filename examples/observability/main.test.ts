import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("prints the spans of a run that waited, and what the agent did", () => {
  const file = join(import.meta.dirname, "main.ts");
  const printed = execFileSync(process.execPath, ["--conditions=awaken-source", file], { encoding: "utf8" });
  expect(printed.trim().split("\n")).toEqual([
    "chat demo-1 gen_ai.usage.input_tokens=10 awaken.cost.usd=0.00007",
    "awaken.suspension awaken.suspension.action=suspended",
    "invoke_agent support gen_ai.usage.input_tokens=10 awaken.cost.usd=0.00007 awaken.root.close_reason=waiting",
    "execute_tool refund",
    "awaken.suspension awaken.suspension.action=resumed",
    "chat demo-1 gen_ai.usage.input_tokens=10 awaken.cost.usd=0.00007",
    "invoke_agent support gen_ai.usage.input_tokens=10 awaken.cost.usd=0.00007 awaken.root.close_reason=done linked",
    "2 answers, 1 wait, refund 1",
  ]);
});
