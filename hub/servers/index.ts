export { breakerKeyOf } from './breaker-key.ts';
export { describeListing, describeServer } from './describe.ts';
export { type Eras, createEras, maxEras } from './eras.ts';
export { type Handle, type Handles, createHandles, digestOf, maxHandles } from './handles.ts';
export { type Introduction, hubInfo } from './handshake.ts';
export type { Gate, Leave, Waiting } from './gate.ts';
export { needAnswer } from './lifecycle/health.ts';
export type { ClientOfSession } from './client-of-session.ts';
export type { Instances, OwnInstance } from './instances.ts';
export {
  type CacheScope,
  type Item,
  type ListKind,
  type Listing,
  listKinds,
  listMethods,
} from './listing.ts';
export { type Fault, isRefusedBy } from './item-faults.ts';
export { type Misfit, describeMisfit } from './misfits.ts';
export { type KeptListings, createKeptListings } from './kept-listing.ts';
export {
  type Placement,
  isExclusive,
  planLaunch,
  runtimeOf,
  serverFolder,
  volumesOf,
} from './plan.ts';
export { successorVariant } from './lifecycle/next.ts';
export { graceMs, startServer } from './start.ts';
export type { Interest, Running, Server, ServerNeeds, ServerStatus } from './server.ts';
export { type Applied, type Servers, createServers } from './servers.ts';
export { createServer } from './supervise.ts';
export { goneError, startFailure } from './failures.ts';
export { createStderrRing, lastWordsOf } from './stderr-ring.ts';
