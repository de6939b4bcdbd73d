export { createEmbeddingModel } from './embedding-model.ts';
export { createMeanings } from './meanings.ts';
export { type ToolSearch, createToolSearch } from './tool-search.ts';
export type { SearchedTool } from './tool-text.ts';
export { createVectorStore } from './vector-store.ts';
