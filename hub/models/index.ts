export type { ModelBreaker } from './call.ts';
export type { Completion, CompletionRequest } from './complete.ts';
export type { Embedding } from './embed.ts';
export { type FailureKind, ModelFailure } from './failure.ts';
export { type Fetching, type FetchingStatus, createFetching } from './fetching.ts';
export type { ModelsStatus } from './health.ts';
export type { ModelInfo } from './listing.ts';
export { type Models, type ModelsNeeds, type ModelsOptions, createModels } from './models.ts';
export type { PullProgress } from './pull.ts';
