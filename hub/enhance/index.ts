export type { Attempt, AttemptKind, EnhanceProgress } from './chain.ts';
export { type Enhancer, createEnhancer } from './enhancer.ts';
export type { EnhanceRequest, Enhancement } from './result.ts';
export { type SemanticModels, createSemanticLoader, loadSemanticCache } from './semantic-loader.ts';
export type { SemanticExplanation } from './semantic-lookup.ts';
export type { SemanticCache, SemanticStats } from './semantic.ts';
export type { CachesStats, Explanation } from './stats.ts';
