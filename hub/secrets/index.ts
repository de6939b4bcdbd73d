export { loadKeyring } from './keychain.ts';
export { type SecretStatus, type Secrets, createSecrets } from './secrets.ts';
