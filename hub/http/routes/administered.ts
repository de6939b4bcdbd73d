/** The options of a route that requires the owner's key. */
export const administered = { config: { scope: 'administer' } } as const;
