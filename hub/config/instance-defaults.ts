/** What an entry with `"instance": "session"` has where it does not say otherwise, and others do not use. */
export const instanceDefaults = { maxInstances: 20, idleSeconds: 1800 } as const;
