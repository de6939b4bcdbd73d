export { reservedNames } from './names.ts';
export type { Observed, Observer } from './observer.ts';
export type {
  ImprovedPrompt,
  NamedByRules,
  PromptSource,
  PromptStep,
} from './steps/prompt-source.ts';
export { type OpenOptions, type Router, type RouterNeeds, createRouter } from './router.ts';
export type {
  EarlierSession,
  Exchange,
  OpenSession,
  Over,
  Session,
  View,
  SessionSettings,
} from './session.ts';
