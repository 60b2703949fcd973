import { describe, expect, it } from "vitest";
import { nodeFix, nodeProblem } from "../node-version.ts";
import { commandName, typedHint } from "./command-name.ts";
import { createRedactor } from "./redact.ts";

describe("commands in hints", () => {
  it("are called as this one was, with the same config and store", () => {
    expect(commandName({})).toBe("awaken");
    expect(commandName({ npm_command: "exec" })).toBe("npx awaken");
    expect(commandName({ npm_execpath: "/npm-cli.js" })).toBe("npx awaken");
    const hint = "`awaken show <run>` tells it, `awaken init` begins";
    expect(typedHint(hint, {}, "npx awaken")).toBe("`npx awaken show <run>` tells it, `npx awaken init` begins");
    expect(typedHint(hint, { config: "a b.ts", store: "x.db" }, "awaken")).toBe(
      "`awaken show <run> --config 'a b.ts' --store x.db` tells it, `awaken init` begins",
    );
    expect(typedHint(hint, { store: "postgres://u:p@h/d" }, "awaken")).not.toContain("u:p");
  });
});

describe("nodeProblem", () => {
  it("names the version that is too old", () => {
    expect(nodeProblem("22.18.0")).toBe("awaken needs Node 24 or newer, and this is Node 22.18.0");
    expect(nodeProblem("24.0.0")).toBeUndefined();
    expect(nodeProblem("100.1.0")).toBeUndefined();
  });

  it("is helped by one of npm: of the project, and where there is none yet, for the command that writes it", () => {
    expect(nodeFix(["run", "hi"])).toContain("`npm install --save-dev node@24`: `npx awaken` then runs on it");
    expect(nodeFix(["init", "my-agents"])).toContain("`npx -p node@24 -p awaken awaken init my-agents`");
  });
});

describe("createRedactor", () => {
  it("takes secrets of the environment and logins of addresses out of a text", () => {
    const redact = createRedactor({ OPENAI_API_KEY: "sk-abcdef", DATABASE_URL: "postgres://u:p%40sswort@h/d", LANG: "en_US.UTF-8" }, [
      "--store=postgres://ana:anas-secret@h/d",
    ]);
    expect(redact("key sk-abcdef, en_US.UTF-8")).toBe("key ***, en_US.UTF-8");
    expect(redact("login with p@sswort or anas-secret failed")).toBe("login with *** or *** failed");
    expect(redact("see https://joe:x@example.com/a?token=abc&b=1")).toBe("see https://***@example.com/a?token=***&b=1");
  });

  it("leaves short values alone, which would only garble texts", () => {
    expect(createRedactor({ KEY: "a" }, [])("a cat")).toBe("a cat");
  });
});
