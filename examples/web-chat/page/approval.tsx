import { type FormEvent, useEffect, useRef, useState } from "react";
import { wordsOf } from "./api.ts";

export type Fields = Readonly<Record<string, string | number>>;

interface ApprovalProps {
  readonly question: string;
  readonly fields: Fields;
  /** With what was written instead of the fields; undefined when they are as they were. */
  readonly onApprove: (edited: Fields | undefined) => Promise<void>;
  readonly onDecline: () => Promise<void>;
}

export function Approval({ question, fields, onApprove, onDecline }: ApprovalProps) {
  const [edited, setEdited] = useState(fields);
  const [isSent, setSent] = useState(false);
  const [problem, setProblem] = useState<string | undefined>();
  const form = useRef<HTMLFormElement>(null);
  const isEdited = Object.entries(fields).some(([name, value]) => edited[name] !== value);
  useEffect(() => {
    if (problem !== undefined) void form.current?.scrollIntoView({ block: "nearest" });
  }, [problem]);
  // What the server refuses can be answered again.
  const send = (sending: Promise<void>) => {
    setSent(true);
    setProblem(undefined);
    sending.catch((thrown: Error) => setProblem(wordsOf(thrown))).finally(() => setSent(false));
  };
  const approve = (event: FormEvent) => {
    event.preventDefault();
    send(onApprove(isEdited ? edited : undefined));
  };
  return (
    <form className="approval" onSubmit={approve} ref={form}>
      <p>{question}</p>
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
      {problem === undefined ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <div className="buttons">
        <button type="submit" className="primary" disabled={isSent}>
          {isEdited ? "Approve with changes" : "Approve"}
        </button>
        <button type="button" disabled={isSent} onClick={() => send(onDecline())}>
          Decline
        </button>
      </div>
    </form>
  );
}
