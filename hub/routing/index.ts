export { type AccessSource, createAccessSource } from './access-rules.ts';
export type { Observed, Observer } from './answering.ts';
export { type PrincipalRequests, createPrincipalRequests } from './principal-requests.ts';
export { reservedNames } from './names.ts';
export { type Router, createRouter } from './router.ts';
export {
  type EarlierSession,
  type Endpoint,
  type Over,
  type Session,
  type SessionSettings,
  clientIn,
} from './session.ts';
export type { ShownTool } from './shown-tools.ts';
export { type LimitNeeds, type LimitRules, createRequestLimits } from './steps/limits.ts';
export type { ImprovedPrompt, NamedByRules, PromptSource, PromptStep } from './steps/improve.ts';
export type { ModelAnswerer } from './events/hub-models.ts';
export type { SamplingAnswerer } from './events/hub-sampling.ts';
