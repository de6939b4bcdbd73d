export { type ToolGrants, restrictToGrants } from './granted.ts';
export { type Hints, hintsOf } from './hints.ts';
export { isHousekeeping, openMethods } from './methods.ts';
export { compilePatterns } from './patterns.ts';
export {
  type Decision,
  type Policy,
  type PolicyConfig,
  type RuleInForce,
  type Use,
  type UsedItem,
  createPolicy,
  hasPolicy,
  unmatched,
} from './policy.ts';
export { type ProfileRules, restrictToProfile } from './profile.ts';
export {
  type Grants,
  type Principal,
  isSamePrincipal,
  openCaller,
  policyNameOf,
  principalKey,
  principalNamed,
  withProfile,
} from './principal.ts';
