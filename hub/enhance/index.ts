export { contextSizeOf } from './context-size.ts';
export { type CachesStats, type Enhancer, type Explanation, createEnhancer } from './enhancer.ts';
export type { EnhanceRequest, Enhancement } from './result.ts';
export { type SemanticModels, createSemanticSource, loadSemanticCache } from './semantic-source.ts';
export type { SemanticCache } from './semantic.ts';
