export { breakerKeyOf } from './breaker-key.ts';
export { describeListing, describeServer } from './describe.ts';
export { type Eras, createEras, maxEras } from './eras.ts';
export { type Handle, type Handles, createHandles, digestOf, maxHandles } from './handles.ts';
export { type Introduction, hubInfo } from './handshake.ts';
export type { Gate, Leave, Waiting } from './gate.ts';
export { needAnswer } from './health.ts';
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
export { nextVariant } from './start.ts';
export { type InstallRequest, type Progress as InstallProgress } from './install/request.ts';
export type { Unconfirmed } from './install/confirmation.ts';
export type { Installed, Installs, InstallsNeeds } from './install/installs.ts';
export { type InstallJobs, createInstallJobs, installKind } from './install/install-jobs.ts';
export { createLazyInstalls, draftLazily, maxUnfinished, tryServerLazily } from './install/lazy.ts';
export { createFolderUpkeep } from './install/folder-upkeep.ts';
export { type Pins, type Registries, createPins, registriesOf } from './install/pins.ts';
export type { ServerJson } from './install/server-json.ts';
export type { Trial } from './install/trial.ts';
export type { Interest, Running, Server, ServerNeeds, ServerStatus } from './server.ts';
export { type Applied, type Servers, createServers } from './servers.ts';
export { createServer } from './supervise.ts';
export type { About, Asked, Caller, Exchange, Owner, Question, Relayed, Told } from './caller.ts';
export type { Upstream } from './upstream.ts';
