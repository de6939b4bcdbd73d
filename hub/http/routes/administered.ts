/** The options of a route that needs the owner's key. Other routes are for calls. */
export const administered = { config: { scope: 'administer' } } as const;
