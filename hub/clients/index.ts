export {
  type ClientMachine,
  type ClientName,
  type ClientScope,
  allConfigFiles,
  clientNames,
  clients,
  configFileOf,
  findMachine,
} from './client/client.ts';
export { type Clients, type HubFiles, createClients } from './clients.ts';
export type { ConnectPlan, ConnectTarget } from './connect-plan.ts';
export { filled } from './filled.ts';
export { type ImportGrants, hasKnownNeeds } from './fit-entry.ts';
export type { FoundServers, ImportSelection } from './find-servers.ts';
export {
  type HubAddress,
  defaultEntryName,
  endpointOf,
  findBridge,
  hubEntry,
  tokenIn,
  tokenVariable,
} from './hub-entry.ts';
export type { ImportItem, ImportPlan } from './import-plan.ts';
export { withValues } from './secrets.ts';
export { withPackageKey } from './source-name.ts';
export { diffTexts } from './text-diff.ts';
