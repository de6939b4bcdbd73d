export { createProcessRuntime } from './process.ts';
export { createWatcher } from './watcher.ts';
