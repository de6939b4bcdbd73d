export { type Enhancer, createEnhancer } from './enhancer.ts';
export type { EnhanceRequest, Enhancement } from './result.ts';
export { type SemanticModels, createSemanticLoader, loadSemanticCache } from './semantic-loader.ts';
export type { SemanticCache } from './semantic.ts';
export type { CachesStats, Explanation } from './stats.ts';
