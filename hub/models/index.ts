export type { CompletionRequest } from './complete.ts';
export { type FailureKind, ModelFailure } from './failure.ts';
export { type Fetching, createFetching } from './fetching.ts';
export type { ModelsStatus } from './ollama-health.ts';
export type { ModelInfo } from './model-list.ts';
export { isSameModel } from './model-name.ts';
export type { ModelCaller } from './model-queue.ts';
export { type MissingModels, createMissingModels } from './missing-models.ts';
export { type Models, createModels } from './models.ts';
