export type { Decision } from './decision.ts';
export {
  type Grants,
  type Principal,
  isSamePrincipal,
  policyNameOf,
  principalKey,
} from './principal.ts';
