/** Defaults for an entry with `"instance": "session"`. Other entries do not use these values. */
export const instanceDefaults = { maxInstances: 20, idleSeconds: 1800 } as const;
