import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AwakenError } from "../error.ts";
import type { JsonObject } from "../json.ts";
import { type LocalAgentSpec, parseAgentSpec } from "./agent.ts";
import { readSection, type SectionKey } from "./section.ts";

const agent = (sections: JsonObject): LocalAgentSpec => {
  const spec = parseAgentSpec("a", { sections });
  if (spec.type !== "local") throw new Error("not local");
  return spec;
};
const key = (name: string): SectionKey<{ capCents: number }> => ({
  name,
  schema: z.object({ capCents: z.number() }),
  initial: () => ({ capCents: 500 }),
});

describe("readSection", () => {
  it("gives the section, and the default when there is none", () => {
    expect(readSection(agent({ budget: { capCents: 300 } }), key("budget"))).toEqual({ capCents: 300 });
    expect(readSection(agent({}), key("budget"))).toEqual({ capCents: 500 });
  });

  it("does not mistake what every object has for a section", () => {
    expect(readSection(agent({}), key("constructor"))).toEqual({ capCents: 500 });
  });

  it.each([{ capCents: "x" }, null, []])("refuses %j and names the section", (section) => {
    const read = () => readSection(agent({ budget: section }), key("budget"));
    expect(read).toThrow("section 'budget' of agent 'a' is invalid: ");
    expect(read).toThrow(AwakenError);
  });
});
