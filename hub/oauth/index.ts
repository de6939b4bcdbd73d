export type { AccessTokens, Challenge, LoginStatus, LoginTarget } from './login-types.ts';
export { type ServerLogins, createLogins } from './logins.ts';
export { loginSecretOf } from './stored-login.ts';
