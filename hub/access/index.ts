export { type HubAuthorization, createAuthorization } from './authorization/authorization.ts';
export {
  authorizationPaths,
  endpointPathOf,
  resourceMetadata,
  serverMetadata,
} from './authorization/metadata.ts';
export type { NamedClient } from './named-clients-types.ts';
export { type NamedClients, openNamedClients } from './named-clients.ts';
export { clientTokensFile, readTokenNames } from './token-file.ts';
export { type PresentedToken, createToken, digestOf } from './token-table.ts';
