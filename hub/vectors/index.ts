export { createEmbeddedVectors } from './embedded.ts';
export { type QdrantOptions, createQdrantVectors } from './qdrant/qdrant-vectors.ts';
export { type Near, type Point, type Vectors, VectorsFailure } from './vectors.ts';
