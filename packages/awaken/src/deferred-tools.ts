export {
  type DeferredToolsSection,
  type DeferredToolsSectionInput,
  deferredTools,
  deferredToolsSectionSchema,
} from "@awaken/extensions/deferred-tools";
