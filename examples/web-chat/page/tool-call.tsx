import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import { Approval, type Fields } from "./approval.tsx";

/** What a person said about a call. */
export interface Answer {
  /** The ticket on the server. */
  readonly id: string;
  readonly approved: boolean;
  /** Instead of what the model wrote. */
  readonly input?: Fields;
}

type Part = ToolUIPart | DynamicToolUIPart;

const NAMES: Readonly<Record<string, string>> = {
  track_order: "Order",
  refund: "Refund",
  credit_note: "Credit note",
  agent_run_billing: "Billing",
};
const STATES: Readonly<Record<Part["state"], string>> = {
  "input-streaming": "running",
  "input-available": "running",
  "approval-requested": "waiting",
  "approval-responded": "running",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "declined",
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/** What can be edited in a form. */
const fieldsOf = (input: unknown): Fields =>
  Object.fromEntries(
    Object.entries(isRecord(input) ? input : {}).flatMap(([name, value]) =>
      typeof value === "string" || typeof value === "number" ? [[name, value]] : [],
    ),
  );

const wordsOf = (value: unknown): string =>
  isRecord(value)
    ? Object.values(value)
        .filter((each) => typeof each === "string" || typeof each === "number")
        .join(" · ")
    : String(value ?? "");

/** What a delegate answered, or what the tool gave. */
const resultOf = (output: unknown): unknown => (isRecord(output) && isRecord(output["data"]) ? output["data"]["response"] : output);

const nameOf = (tool: string): string => NAMES[tool] ?? tool;

export function ToolCall({ part, onAnswer }: { readonly part: Part; readonly onAnswer: (answer: Answer) => Promise<void> }) {
  const state = STATES[part.state];
  const tool = getToolName(part);
  const shown = part.state === "output-available" ? resultOf(part.output) : part.state === "output-error" ? part.errorText : part.input;
  return (
    <div className={`call ${state}`} data-tool={tool} data-state={part.state}>
      <div className="line">
        <span className="dot" aria-hidden="true" />
        <strong>{nameOf(tool)}</strong>
        <span className="detail">{wordsOf(shown)}</span>
        <span className="state">{state}</span>
      </div>
      {part.state === "approval-requested" ? <Asked part={part} onAnswer={onAnswer} /> : null}
    </div>
  );
}

/** A call of this conversation, or one of an agent below it, which the descriptor tells of. */
function Asked({
  part,
  onAnswer,
}: {
  readonly part: Extract<Part, { state: "approval-requested" }>;
  readonly onAnswer: (answer: Answer) => Promise<void>;
}) {
  const { id, descriptor, requestReason } = part.approval;
  const below = isRecord(descriptor) && typeof descriptor["toolName"] === "string" ? descriptor : undefined;
  const fields = fieldsOf(below === undefined ? part.input : below["input"]);
  return (
    <Approval
      key={id}
      question={requestReason ?? "May this be done?"}
      fields={fields}
      onApprove={(input) => onAnswer({ id, approved: true, ...(input === undefined ? undefined : { input }) })}
      onDecline={() => onAnswer({ id, approved: false })}
    />
  );
}
