import type { InferenceOverride } from "@awaken/contract";
import { type Command, command } from "../../phase/command.ts";
import { exclude, includeOnly, override } from "../../prompt/changes.ts";
import { inferenceOverrides } from "../../prompt/inference-overrides.ts";
import { toolFilter } from "../../prompt/tool-filter.ts";

export const setOverride = (more: InferenceOverride): Command => command().update(inferenceOverrides, override(more));

export const hideTools = (given: string | readonly string[]): Command =>
  command().update(toolFilter, exclude(typeof given === "string" ? [given] : given));

export const offerOnly = (tools: readonly string[]): Command => command().update(toolFilter, includeOnly(tools));
