export { describeListing, describeServer, unknownToolsOf } from './describe.ts';
export { type Eras, createEras, maxEras, maySpeakBoth } from './handshake/eras.ts';
export {
  type Handle,
  type Handles,
  createHandles,
  digestOf,
  maxHandles,
} from './adoption/adoption.ts';
export {
  type ClientOfSession,
  type ServerInfo,
  hubInfo,
  needAnswer,
} from './handshake/handshake.ts';
export {
  type CallPermit,
  type ServerAdmission,
  breakerKeyOf,
  createAdmission,
} from './admission.ts';
export type { Instances } from './instances/instances.ts';
export {
  type Item,
  type ListKind,
  type Listing,
  byKind,
  isSameItem,
  listKinds,
  listMethods,
} from './listing/listing.ts';
export { type Fault, isRefusedBy } from './listing/item-faults.ts';
export { heldKey } from './listing/holds.ts';
export { isKept, toolHints, unkeptToolsOf } from './listing/tool-hints.ts';
export { describeMisfit } from './listing/listing-cache.ts';
export { createKeptListings } from './listing/kept-listing.ts';
export {
  type Placement,
  isExclusive,
  planLaunch,
  withoutSecretFaults,
  runtimeOf,
  serverFolder,
  volumesOf,
} from './plan.ts';
export { failOnClose } from './lifecycle/instance-pool.ts';
export { successorVariant } from './lifecycle/next.ts';
export { withSampling } from './handshake/with-sampling.ts';
export { graceMs, startServer } from './handshake/start.ts';
export type { Interest, Running, Server, ServerNeeds, ServerStatus } from './server-types.ts';
export { type Applied, type Servers, createServers } from './servers.ts';
export { createServer } from './server.ts';
export { restartNow, startNow } from './start-now.ts';
export { goneError, startFailure } from './failures.ts';
export { createStderrRing, lastWordsOf } from './lifecycle/stderr-ring.ts';
