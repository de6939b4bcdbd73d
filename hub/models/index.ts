export type { CompletionRequest } from './complete.ts';
export { type FailureKind, ModelFailure } from './failure.ts';
export { type Fetching, type FetchingStatus, createFetching } from './fetching.ts';
export type { ModelsStatus } from './ollama-health.ts';
export { type ModelInfo, isSameModel } from './model-list.ts';
export type { ModelCaller } from './model-queue.ts';
export { type Models, createModels } from './models.ts';
