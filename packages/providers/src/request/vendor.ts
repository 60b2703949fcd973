/**
 * What the SDK does not tell about a model but a request depends on. Derived from the model's provider id
 * (`openai.responses`, `anthropic.messages`, `google.generative-ai`, …); an unknown vendor gets what works everywhere.
 */
export interface Vendor {
  /** Whose option names it understands. */
  readonly family: "openai" | "anthropic" | "google" | undefined;
  /** System messages may stand anywhere; elsewhere later ones are sent as user messages. */
  readonly hasLateSystem: boolean;
  /** Tool results may hold images and documents; elsewhere these follow as a user message. */
  readonly hasToolMedia: boolean;
  /** User and model must take turns, and its package does not see to it: messages of one role in a row are sent as one. */
  readonly takesTurns: boolean;
  /** Refers to its own stored answers by id unless told not to. */
  readonly keepsAnswers: boolean;
}

function familyOf(provider: string): Vendor["family"] {
  if (/anthropic/.test(provider)) return "anthropic";
  if (/^(openai|azure)\b/.test(provider)) return "openai";
  return /^(google|vertex|gemini)\b/.test(provider) ? "google" : undefined;
}

export function vendorOf(provider: string): Vendor {
  const family = familyOf(provider);
  const keepsAnswers = provider.endsWith(".responses");
  return {
    family,
    hasLateSystem: family === "openai" || keepsAnswers,
    hasToolMedia: family === "anthropic" || family === "google" || keepsAnswers,
    takesTurns: family === "google",
    keepsAnswers,
  };
}
