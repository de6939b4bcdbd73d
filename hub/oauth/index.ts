export {
  type AccessTokens,
  type Challenge,
  type LoginStatus,
  type LoginTarget,
  type ServerLogins,
} from './login-types.ts';
export { createLogins } from './logins.ts';
