export { describeListing, describeServer } from './describe.ts';
export { type Eras, createEras, maxEras } from './eras.ts';
export { type Introduction, hubInfo } from './handshake.ts';
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
export { type Placement, planLaunch, serverFolder } from './plan.ts';
export type { Interest, Running, Server, ServerNeeds, ServerStatus } from './server.ts';
export { type Servers, createServers } from './servers.ts';
export { createServer } from './supervise.ts';
export type { About, Asked, Caller, Exchange, Owner, Question, Relayed, Told } from './caller.ts';
export type { Upstream } from './upstream.ts';
