import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRegistrySet } from "./create-registry-set.ts";
import { diagnoseRegistry, validateRegistry } from "./diagnostics.ts";
import { BASIC, handleOf, pluginOf, refusal, stub } from "./registry.test-support.ts";
import type { RegistryDraft } from "./registry-set.ts";

const REMOTE = { remote: { a2a: "https://agents.example.com" } };

describe("diagnoseRegistry", () => {
  it("registry-and-runtime 16: a model without its provider is told once, however many agents are on it", () => {
    const set = createRegistrySet({ models: BASIC.models, agents: BASIC.agents });
    expect(diagnoseRegistry(set)).toEqual([
      {
        code: "model_missing_provider",
        severity: "error",
        resource: { namespace: "models", id: "m" },
        dependsOn: { namespace: "providers", id: "p" },
        message: "model 'm' references missing provider 'p'",
        fix: "register provider 'p', or name another one in field 'provider'",
      },
    ]);
  });

  it("registry-and-runtime 17: a hook filter may only name plugins that the agent loads itself", () => {
    const agents = { a: { model: "m", plugins: ["x"], activePlugins: ["x", "y"] } };
    const set = createRegistrySet({ ...BASIC, agents, plugins: [pluginOf("x"), pluginOf("y")] });
    expect(diagnoseRegistry(set)).toMatchObject([
      {
        code: "agent_hook_filter_plugin_not_loaded",
        resource: { namespace: "agents", id: "a" },
        dependsOn: { namespace: "plugins", id: "y" },
        message: "agent 'a' active hook filter references unloaded plugin 'y'",
      },
    ]);
  });

  it("tells every wrong name, and for the first of very many also what was meant", () => {
    const names = Array.from({ length: 200 }, (_, index) => `agent${index}`);
    const agents = Object.fromEntries(names.map((id) => [id, { model: "m", delegates: [`${id}x`] }]));
    const found = diagnoseRegistry(createRegistrySet({ ...BASIC, agents }));
    expect(found).toHaveLength(200);
    expect(found.filter(({ message }) => message.includes("did you mean"))).toEqual(found.slice(0, 50));
  });

  it("finds every reference that leads nowhere, each once: models, pools, then agents", () => {
    const set = createRegistrySet({
      models: { m: { provider: "gone", model: "u" } },
      pools: { pool: { members: [{ model: "m" }, { model: "missing" }] } },
      agents: {
        b: { model: "none", plugins: ["x", "x"], delegates: ["nobody", "a", "nobody"], handoffs: ["nowhere"] },
        a: { model: "pool" },
      },
    });
    expect(diagnoseRegistry(set).map(({ code, message }) => [code, message])).toEqual([
      ["model_missing_provider", "model 'm' references missing provider 'gone'"],
      ["model_pool_missing_model", "model pool 'pool' references missing model 'missing'"],
      ["agent_missing_model", "agent 'b' references missing model 'none'"],
      ["agent_missing_plugin", "agent 'b' uses missing plugin 'x'"],
      ["agent_missing_delegate", "agent 'b' delegates to missing agent 'nobody'"],
      ["agent_missing_handoff", "agent 'b' hands off to missing agent 'nowhere'"],
    ]);
  });

  it("asks nothing of a remote agent, and takes it as a delegate", () => {
    const set = createRegistrySet({ ...BASIC, agents: { ...BASIC.agents, far: REMOTE, lead: { model: "m", delegates: ["far"] } } });
    expect(diagnoseRegistry(set)).toEqual([]);
  });
});

describe("validateRegistry", () => {
  it("throws one error with all of them", () => {
    const set = createRegistrySet({ agents: { a: { model: "x", plugins: ["y"] } } });
    const error = refusal(() => validateRegistry(set));
    expect(error).toMatchObject({ code: "registry_validation_failed", details: { diagnostics: diagnoseRegistry(set) } });
    expect(error.message).toBe("registry validation failed: agent 'a' references missing model 'x'; agent 'a' uses missing plugin 'y'");
    expect(JSON.parse(JSON.stringify(error)).details.diagnostics).toHaveLength(2);
  });

  it("says nothing about a whole set", () => {
    expect(() => validateRegistry(createRegistrySet(BASIC))).not.toThrow();
  });
});

interface Edit {
  readonly table: "providers" | "models" | "plugins" | "agents";
  readonly id: string;
  readonly isRemoval: boolean;
  readonly to: string;
}

/** Small universe, so that edits often break a reference. */
const NAME = fc.constantFrom("x", "y", "z");
const TABLE = fc.constantFrom<Edit["table"]>("providers", "models", "plugins", "agents");
const EDIT = fc.record({ table: TABLE, id: NAME, isRemoval: fc.boolean(), to: NAME });

function applyEdit(draft: RegistryDraft, { table, id, isRemoval, to }: Edit): void {
  const added = {
    providers: stub(),
    models: { provider: to, model: "u" },
    plugins: pluginOf(id),
    agents: { model: to, plugins: [to], delegates: [to] },
  };
  if (isRemoval) delete draft[table][id];
  else Object.assign(draft[table], { [id]: added[table] });
}

const LEAF = "a";

describe("validation of an edit", () => {
  it("looks only at what can have broken, and still finds what a look at everything finds", () => {
    const tally = { published: 0, refused: 0 };
    fc.assert(
      fc.property(fc.array(fc.array(EDIT, { minLength: 1, maxLength: 3 }), { maxLength: 20 }), (updates) => {
        const handle = handleOf({});
        for (const edits of updates) {
          const { version } = handle;
          try {
            handle.update((draft) => {
              for (const edit of edits) applyEdit(draft, edit);
            });
            tally.published += 1;
          } catch (thrown) {
            expect(thrown).toMatchObject({ code: "registry_validation_failed" });
            expect(handle.version).toBe(version);
            tally.refused += 1;
          }
          // Whatever was published is whole, by the check that looks at everything.
          expect(diagnoseRegistry(handle.snapshot().registries)).toEqual([]);
        }
      }),
      { numRuns: 150 },
    );
    expect(Math.min(tally.published, tally.refused)).toBeGreaterThan(100);
  });

  it("fails an edit that removes what another entry needs", () => {
    const handle = handleOf({ ...BASIC, agents: { ...BASIC.agents, lead: { model: "m", delegates: ["a"] } } });
    handle.update(() => {});
    const error = refusal(() =>
      handle.update(({ agents }) => {
        delete agents[LEAF];
      }),
    );
    expect(error.message).toBe("registry validation failed: agent 'lead' delegates to missing agent 'a'");
  });
});
