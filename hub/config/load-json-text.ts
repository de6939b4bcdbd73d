export type { JsonText } from './json-text.ts';

/** What reads and changes JSON files of others; few hubs ever do. */
export const loadJsonText = async () => await import('./json-text.ts');
