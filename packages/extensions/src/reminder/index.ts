export { type ReminderOptions, reminder } from "./reminder.ts";
export { type ReminderRule, type ReminderRuleInput, reminderSectionSchema } from "./section.ts";
