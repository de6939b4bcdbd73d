export type { JsonText } from './json-text.ts';

/** Loads the JSON editor on demand: few hubs edit files of other programs. */
export const loadJsonText = async () => await import('./json-text.ts');
