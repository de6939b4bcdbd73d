export { findBridge } from './bridge-command.ts';
export { type ClientName, type ClientScope, clientNames, clients } from './client/client.ts';
export { type Clients, type HubFiles, createClients } from './clients.ts';
export type { ConnectPlan, ConnectTarget } from './connect-plan.ts';
export { type DiffLine, diffTexts } from './text-diff.ts';
export type { FoundServers, ImportSelection } from './find-servers.ts';
export {
  type HubAddress,
  defaultEntryName,
  endpointOf,
  hubEntry,
  tokenIn,
  tokenVariable,
} from './hub-entry.ts';
export type { ImportItem, ImportPlan } from './import-plan.ts';
export { findMachine } from './find-machine.ts';
export { type ClientMachine, allConfigFiles, configFileOf } from './config-locations.ts';
