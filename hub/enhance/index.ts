export type { Attempt, AttemptKind, EnhanceProgress } from './chain.ts';
export type { EnhanceRequest, Enhancement } from './enhancement.ts';
export { type Enhancer, createEnhancer } from './enhancer.ts';
export type { CachesStats, Explanation } from './insight.ts';
export { type Judge, type JudgeOptions, createJudge } from './judge.ts';
export type { NearExplanation } from './near.ts';
export { type SemanticModels, createSemanticByRules } from './semantic-by-rules.ts';
export {
  type SemanticCache,
  type SemanticOptions,
  type SemanticStats,
  createSemanticCache,
} from './semantic.ts';
