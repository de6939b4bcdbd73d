export { type RemoteRuntimeOptions, createRemoteRuntime } from './remote.ts';
