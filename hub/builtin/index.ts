export { addBuiltins } from './add-builtins.ts';
export type { Management } from './agenthub.ts';
