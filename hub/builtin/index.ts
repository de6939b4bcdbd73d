export { type Management, addBuiltins } from './add-builtins.ts';
