export { createProcessRuntime } from './process.ts';
