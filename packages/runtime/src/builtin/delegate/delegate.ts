import { errorMessage, isJsonObject, type JsonObject, type ToolCallProgress } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import type { ResumedCall } from "../../phase/hook.ts";
import type { ChildResult } from "../../tool/child-result.ts";
import { fail, type Reply, reply, wait } from "../../tool/reply.ts";
import type { ToolContext } from "../../tool/tool.ts";
import type { ToolWork } from "../late-tool.ts";

export interface DelegateInput {
  readonly prompt: string;
}

const promptOf = (value: unknown): string | undefined => {
  const prompt = isJsonObject(value) ? value["prompt"] : undefined;
  return typeof prompt === "string" ? prompt : undefined;
};

const input: s.Type<DelegateInput> = s.custom(
  (value) => (promptOf(value)?.trim() ?? "") !== "",
  (value) => s.message(promptOf(value) === undefined ? 'missing required field "prompt"' : "prompt must not be empty"),
);

/** As the model reads it. */
const dataOf = ({ agentId, label, text, output, steps }: ChildResult): JsonObject => ({
  agent_id: agentId,
  status: label,
  response: text === "" ? null : text,
  output: { ...(output.text === undefined ? {} : { text: output.text }), artifacts: output.artifacts.map((artifact) => ({ ...artifact })) },
  steps,
});

const WORDS: Record<ChildResult["status"], { readonly status: ToolCallProgress["status"]; readonly said: string }> = {
  done: { status: "done", said: "completed" },
  failed: { status: "failed", said: "failed" },
  timeout: { status: "failed", said: "timed out" },
  cancelled: { status: "cancelled", said: "cancelled" },
  waiting: { status: "pending", said: "suspended" },
};

function report({ progress }: ToolContext, result: ChildResult): void {
  const { status, said } = WORDS[result.status];
  const why = result.status === "failed" ? `: ${result.error}` : "";
  progress({ status, message: `delegation to ${result.agentId} ${said}${why}` });
}

function replyOf(result: ChildResult): Reply {
  const metadata = result.runId === undefined ? undefined : { metadata: { child_run_id: result.runId } };
  switch (result.status) {
    case "done":
      return reply(dataOf(result), { message: result.text === "" ? result.label : result.text, ...metadata });
    case "waiting":
      return wait(result.suspension, { message: `'${result.agentId}' is not done yet.`, ...metadata });
    default:
      return fail(`delegate_${result.status}`, `${result.agentId}: ${result.label}`, { data: dataOf(result), ...metadata });
  }
}

const isResult = (value: unknown): value is ChildResult =>
  isJsonObject(value) && typeof value["status"] === "string" && typeof value["agentId"] === "string" && isJsonObject(value["output"]);

/** What became of the child that the call waited for. */
const resumedWith = (resume: ResumedCall | undefined): ChildResult | undefined =>
  resume?.decision.action === "answer" && isResult(resume.decision.result) ? resume.decision.result : undefined;

/** Asks the agent, or reads what became of the child that the call waited for. */
export const delegateWork = (agentId: string): ToolWork<DelegateInput> => ({
  input,
  async execute({ prompt }, context) {
    let result = resumedWith(context.resume);
    try {
      if (result === undefined) {
        context.progress({ status: "running", message: `delegating to ${agentId}` });
        result = await context.runAgent({ agent: agentId, input: prompt.trim() });
      }
    } catch (thrown) {
      return fail("delegate_failed", errorMessage(thrown));
    }
    report(context, result);
    return replyOf(result);
  },
});
