import {
  AwakenError,
  BACKEND_DIMENSIONS,
  type Backend,
  type BackendDimension,
  type BackendProfile,
  type RunOptions,
} from "@awaken/contract";

/** What a run asks for; what is left out is asked of nobody. */
export type BackendRequirements = Partial<BackendProfile>;

/** The combined values stand for their parts, and not the other way. */
const COMBINED: ReadonlySet<string> = new Set(["cooperative-token-and-remote-abort", "live-and-durable", "input-and-auth"]);

function satisfies(dimension: BackendDimension, has: string, wants: string): boolean {
  const scale: readonly string[] = BACKEND_DIMENSIONS[dimension];
  if (has === wants) return true;
  switch (dimension) {
    case "cancellation":
    case "decisions":
    case "waits":
      return wants === "none" || (COMBINED.has(has) && !COMBINED.has(wants));
    case "continuation":
      return wants === "none" || has === "remote-state";
    // State that lives with the remote side is as good as the whole transcript.
    case "transcript":
      return has !== "single-prompt";
    default:
      return scale.indexOf(has) >= scale.indexOf(wants);
  }
}

const isDimension = (name: string): name is BackendDimension => name in BACKEND_DIMENSIONS;

/** Every respect in which a backend does not do what is asked of it. */
export function profileMismatches(profile: BackendProfile, requirements: BackendRequirements): readonly BackendDimension[] {
  return Object.keys(requirements)
    .filter(isDimension)
    .filter((name) => {
      const wants = requirements[name];
      return wants !== undefined && !satisfies(name, profile[name], wants);
    });
}

/** What was asked for and cannot be had, in the order in which it is looked at. */
export function refuseUnsupported(agentId: string, unsupported: readonly string[]): void {
  if (unsupported.length === 0) return;
  const message = `execution failed: agent '${agentId}' backend does not support: ${unsupported.join(", ")}`;
  throw new AwakenError("capability_mismatch", message, { details: { agentId, unsupported } });
}

/** What a root run asks of a backend, beside its input. */
export interface RootNeeds {
  readonly options: Partial<RunOptions>;
  /** Decisions that it is resumed with. */
  readonly decisions: number;
}

/** Throws when a backend cannot do what a root run asks of it. That it cannot be cancelled refuses nothing. */
export function checkRoot(agentId: string, { profile }: Backend, { options, decisions }: RootNeeds): void {
  const { overrides, frontendTools = [] } = options;
  const asksModel = overrides?.upstreamModel !== undefined;
  const wanted: BackendRequirements = {
    ...(decisions === 0 ? undefined : { decisions: "durable-resume" as const }),
    ...(overrides === undefined ? undefined : { overrides: asksModel ? ("model-and-params" as const) : ("inference-params" as const) }),
    ...(frontendTools.length === 0 ? undefined : { frontendTools: "descriptors-only" as const }),
  };
  refuseUnsupported(agentId, profileMismatches(profile, wanted));
}
