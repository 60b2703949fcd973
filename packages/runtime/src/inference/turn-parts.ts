import { type AssistantContent, InferenceError, type StreamPart, type Turn } from "@awaken/contract";

function* contentParts(content: AssistantContent): Generator<StreamPart> {
  if (content.type === "text" || content.type === "reasoning") {
    yield { type: `${content.type}-delta`, delta: content.text };
    const { type: _type, text: _text, ...end } = content;
    yield { type: "block-end", ...end };
  } else yield { type: "content", content };
}

function* turnParts({ content, malformedCalls, usage, stopReason }: Turn): Generator<StreamPart> {
  const isOurCall = (part: AssistantContent) => part.type === "tool-call" && part.executed === undefined;
  for (const part of content) if (!isOurCall(part)) yield* contentParts(part);
  for (const part of content) {
    if (part.type !== "tool-call" || !isOurCall(part)) continue;
    const { id, name, input, providerMetadata } = part;
    yield { type: "tool-call-start", id, name };
    yield { type: "tool-call-delta", id, delta: JSON.stringify(input) };
    if (providerMetadata !== undefined) yield { type: "tool-call-metadata", id, providerMetadata };
  }
  for (const { id, name } of malformedCalls) {
    yield { type: "tool-call-start", id, name };
    // Nothing that parses: the call must stay malformed.
    yield { type: "tool-call-delta", id, delta: "{" };
  }
  yield { type: "usage", usage };
  if (stopReason !== "error") yield { type: "stop", reason: stopReason };
}

async function* toStream(parts: Iterable<StreamPart>): AsyncGenerator<StreamPart> {
  yield* parts;
}

/** Content, then calls, then usage, then the stop. Throws what the answer failed with. */
export function turnStream(turn: Turn): AsyncIterable<StreamPart> {
  if (turn.stopReason === "error") throw new InferenceError(turn.failure);
  return toStream(turnParts(turn));
}
