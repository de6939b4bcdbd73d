export { breakerKeyOf } from './breaker-key.ts';
export { describeListing, describeServer } from './describe.ts';
export { type Eras, createEras, maxEras } from './handshake/eras.ts';
export {
  type Handle,
  type Handles,
  createHandles,
  digestOf,
  maxHandles,
} from './adoption/handles.ts';
export { type ServerInfo, hubInfo } from './handshake/handshake.ts';
export { type Admission, type CallPermit, createAdmission } from './admission.ts';
export { restartNow, startNow } from './start-now.ts';
export { needAnswer } from './lifecycle/health.ts';
export type { ClientOfSession } from './instances/client-of-session.ts';
export type { Instances } from './instances/instances.ts';
export {
  type Item,
  type ListKind,
  type Listing,
  listKinds,
  listMethods,
} from './listing/listing.ts';
export { type Fault, isRefusedBy } from './listing/item-faults.ts';
export { describeMisfit } from './listing/misfits.ts';
export { createKeptListings } from './listing/kept-listing.ts';
export {
  type Placement,
  isExclusive,
  planLaunch,
  runtimeOf,
  serverFolder,
  volumesOf,
} from './plan.ts';
export { successorVariant } from './lifecycle/next.ts';
export { graceMs, startServer } from './handshake/start.ts';
export type { Interest, Running, Server, ServerNeeds, ServerStatus } from './server-types.ts';
export { type Applied, type Servers, createServers } from './servers.ts';
export { createServer } from './server.ts';
export { goneError, startFailure } from './failures.ts';
export { createStderrRing, lastWordsOf } from './lifecycle/stderr-ring.ts';
