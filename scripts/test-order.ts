import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, those that mostly wait before those that compute: nothing long is left to run alone at the end. */
const LONGEST = [
  "e2e/chaos/chaos.test.ts",
  "packages/stores/src/postgres/conformance.test.ts",
  "packages/awaken/src/cli/run.test.ts",
  "packages/awaken/src/cli/records.test.ts",
];

/** Without results of an earlier run, as on a fresh checkout, vitest takes the largest files first, and one project after the other. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}
