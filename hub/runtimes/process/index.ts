export { type ProcessRuntimeOptions, createProcessRuntime } from './process.ts';
