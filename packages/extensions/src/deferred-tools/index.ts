export { deferredTools } from "./deferred-tools.ts";
export { type DeferredToolsSection, type DeferredToolsSectionInput, deferredToolsSectionSchema } from "./section.ts";
