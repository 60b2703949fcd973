import { didYouMean } from "../nearest-name.ts";
import { describeIssue, type Issue, quote } from "../schema/issue.ts";

const MAX_PROBLEMS = 5;

function describe(issue: Issue): string {
  if (issue.type === "message") return issue.text;
  const name = quote(issue.path.map(String).join("."));
  if (issue.type === "unknown-field") return `unknown field ${name}${didYouMean(String(issue.path.at(-1)), issue.known)}`;
  return `${issue.path.length === 0 ? "the spec" : `field ${name}`} ${describeIssue(issue)}`;
}

/** Every problem in a sentence of its own, at most five of them. */
export function describeIssues(issues: readonly Issue[]): string {
  const more = issues.length - MAX_PROBLEMS;
  return issues.slice(0, MAX_PROBLEMS).map(describe).join("; ") + (more > 0 ? `; and ${more} more` : "");
}
