export { describeListing, describeServer } from './describe.ts';
export { hubInfo } from './handshake.ts';
export { type Item, type ListKind, type Listing, listKinds, listMethods } from './listing.ts';
export { type Placement, planLaunch, serverFolder } from './plan.ts';
export type { Running, Server, ServerNeeds, ServerStatus } from './server.ts';
export { type Servers, createServers } from './servers.ts';
export { createServer } from './supervise.ts';
export type { Caller, Relayed, Upstream } from './upstream.ts';
