import type { Interrupt } from "@copilotkit/react-core/v2";
import { type FormEvent, useState } from "react";

type Fields = Readonly<Record<string, string | number>>;

/** As the `responseSchema` of an approval has it. */
export type Answer = { readonly approved: false } | { readonly approved: true; readonly editedArgs?: Fields };

interface ApprovalProps {
  readonly interrupt: Interrupt;
  readonly onAnswer: (answer: Answer) => void;
}

/** The input of the call that waits: of this agent, or of one below it. */
function fieldsOf({ metadata }: Interrupt): Fields {
  const input: unknown = metadata?.["input"];
  const entries = typeof input === "object" && input !== null ? Object.entries(input) : [];
  return Object.fromEntries(entries.filter(([, value]) => typeof value === "string" || typeof value === "number"));
}

export function Approval({ interrupt, onAnswer }: ApprovalProps) {
  const fields = fieldsOf(interrupt);
  const [edited, setEdited] = useState(fields);
  const isEdited = Object.entries(fields).some(([name, value]) => edited[name] !== value);
  const approve = (event: FormEvent) => {
    event.preventDefault();
    onAnswer({ approved: true, ...(isEdited ? { editedArgs: edited } : undefined) });
  };
  return (
    <form className="approval" onSubmit={approve}>
      <p>{interrupt.message ?? "May this be done?"}</p>
      <div className="fields">
        {Object.entries(fields).map(([name, value]) => (
          <label key={name}>
            {name}
            <input
              name={name}
              type={typeof value === "number" ? "number" : "text"}
              step="any"
              required
              value={edited[name] ?? ""}
              onChange={({ target }) =>
                setEdited({ ...edited, [name]: typeof value === "number" && target.value !== "" ? Number(target.value) : target.value })
              }
            />
          </label>
        ))}
      </div>
      <div className="buttons">
        <button type="submit" className="primary">
          {isEdited ? "Approve with changes" : "Approve"}
        </button>
        <button type="button" onClick={() => onAnswer({ approved: false })}>
          Decline
        </button>
      </div>
    </form>
  );
}
