/** Of facts in the log. */
export const EVENT_SCHEMA_VERSION = 1;
