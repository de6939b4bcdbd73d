/** The name of the principal that administers the hub: of its key, and of a login to the dashboard. */
export const ownerName = 'owner';
/** The options of a route that needs the owner's key. Other routes are for calls. */
export const administered = { config: { scope: 'administer' } } as const;
