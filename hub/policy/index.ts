export type { Decision } from './decision.ts';
export { type Grants, type Principal, isSamePrincipal, principalKey } from './principal.ts';
