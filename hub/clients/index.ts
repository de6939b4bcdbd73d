export { findBridge } from './bridge.ts';
export { type ClientName, type Scope, clientNames, clients } from './client.ts';
export {
  type Clients,
  type ClientState,
  type HubFiles,
  type Imported,
  createClients,
} from './clients.ts';
export type { Plan, Target } from './connection.ts';
export { type DifferenceLine, differenceOf } from './difference.ts';
export type { Found, Wanted } from './found-servers.ts';
export {
  type HubAddress,
  endpointOf,
  hubEntry,
  tokenIn,
  tokenVariable,
  usualName,
} from './hub-entry.ts';
export type { ImportItem, ImportPlan } from './import-plan.ts';
export type { Undoable } from './import-record.ts';
export { findMachine } from './machine.ts';
export { type Machine, filesOfClients, placeOf } from './places.ts';
