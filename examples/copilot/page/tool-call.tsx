interface ToolCallProps {
  readonly name: string;
  readonly parameters: unknown;
  readonly status: "inProgress" | "executing" | "complete";
  readonly result: string | undefined;
}

const NAMES: Readonly<Record<string, string>> = {
  track_order: "Order",
  refund: "Refund",
  credit_note: "Credit note",
  agent_run_billing: "Billing",
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const wordsOf = (value: unknown): string =>
  isRecord(value)
    ? Object.values(value)
        .filter((each) => typeof each === "string" || typeof each === "number")
        .join(" · ")
    : String(value ?? "");

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What a delegate answered, or what the tool gave. */
function resultOf(result: string): unknown {
  const value = parsed(result);
  return isRecord(value) && isRecord(value["data"]) ? value["data"]["response"] : value;
}

export function ToolCall({ name, parameters, status, result }: ToolCallProps) {
  const shown = result === undefined ? parameters : resultOf(result);
  return (
    <div className="call" data-tool={name} data-status={status}>
      <span className="dot" aria-hidden="true" />
      <strong>{NAMES[name] ?? name}</strong>
      <span className="detail">{wordsOf(shown)}</span>
    </div>
  );
}
