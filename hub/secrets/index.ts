export { loadKeyring } from './keychain.ts';
export { type SecretStatus, type SecretStore, type Secrets, createSecrets } from './secrets.ts';
