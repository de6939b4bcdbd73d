export type { Observed, Observer } from './answering.ts';
export { reservedNames } from './names.ts';
export { type Router, createRouter } from './router.ts';
export type { EarlierSession, Over, Session, Endpoint, SessionSettings } from './session.ts';
export type { ImprovedPrompt, NamedByRules, PromptSource, PromptStep } from './steps/improve.ts';
