export { reservedNames } from './names.ts';
export type { Observed, Observer } from './observer.ts';
export type {
  ImprovedPrompt,
  NamedByRules,
  PromptSource,
  PromptStep,
} from './steps/prompt-source.ts';
export { type Router, createRouter } from './router.ts';
export type { EarlierSession, Over, Session, Endpoint, SessionSettings } from './session.ts';
