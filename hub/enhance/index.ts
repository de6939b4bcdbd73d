export { contextSizeOf } from './context-size.ts';
export { type CachesStats, type Enhancer, type Explanation, createEnhancer } from './enhancer.ts';
export type { EnhanceRequest, Enhancement } from './result.ts';
export { type SemanticModels, createSemanticLoader, loadSemanticCache } from './semantic-loader.ts';
export type { SemanticCache } from './semantic.ts';
