export type { ModelBreaker } from './ollama-call.ts';
export type { CompletionRequest, ModelAnswer } from './complete.ts';
export type { Embedding } from './embed.ts';
export { type FailureKind, ModelFailure } from './failure.ts';
export { type Fetching, type FetchingStatus, createFetching } from './fetching.ts';
export type { ModelsStatus } from './ollama-health.ts';
export type { ModelInfo } from './model-list.ts';
export { type Models, type ModelsNeeds, type ModelsOptions, createModels } from './models.ts';
export type { PullProgress } from './pull.ts';
