export { createRemoteRuntime } from './remote.ts';
