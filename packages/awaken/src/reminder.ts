export {
  type ReminderOptions,
  type ReminderRule,
  type ReminderRuleInput,
  reminder,
  reminderSectionSchema,
} from "@awaken/extensions/reminder";
