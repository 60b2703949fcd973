import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, those that mostly wait before those that compute: nothing long is left to run alone at the end. */
const LONGEST = [
  "e2e/chaos/chaos.test.ts",
  "e2e/durability/kill.test.ts",
  "scripts/build.test.ts",
  "packages/stores/src/postgres/conformance.test.ts",
  "e2e/durability/left-calls.test.ts",
  "e2e/mailbox/processes.test.ts",
  "packages/awaken/src/cli/records.test.ts",
  "packages/awaken/src/cli/run.test.ts",
  "scripts/check-docs.test.ts",
  "e2e/mailbox/faults.test.ts",
  "e2e/durability/decisions.test.ts",
  "packages/stores/src/sqlite/conformance.test.ts",
  "e2e/inference/long-threads.test.ts",
  "e2e/protocols/ai-sdk.test.ts",
  "e2e/web-chat/web-chat.test.ts",
  "packages/awaken/src/cli/bad-input.test.ts",
  "packages/awaken/src/cli/remote/chat.test.ts",
  "packages/awaken/src/cli/dev.test.ts",
  "examples/api/programs.test.ts",
  "examples/chat/chat.test.ts",
];

/** Without results of an earlier run, as on a fresh checkout, vitest takes the largest files first, and one project after the other. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Files that share a process are short, and stay together.
    const place = ({ moduleId, project }: TestSpecification): number => {
      const at = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      if (at !== -1) return at;
      return project.config.isolate ? LONGEST.length : LONGEST.length + 1;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
