export { type Grants, type Principal, isSamePrincipal, principalKey } from './principal.ts';
