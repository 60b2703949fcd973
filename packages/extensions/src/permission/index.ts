export { permission } from "./permission.ts";
export { type Policy, type PolicyUpdate, permissionOverrides, permissionPolicy } from "./policy.ts";
export { type PermissionHost, type PermissionPreview, previewPermission } from "./preview.ts";
export { PERMISSION_CONFIRM, type Remembered, type RememberOptions, remember } from "./remember.ts";
export type { RuleSource, StoredRule } from "./rule.ts";
export { type Behavior, type PermissionSection, type PermissionSectionInput, permissionSectionSchema } from "./section.ts";
