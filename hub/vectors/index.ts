export { createEmbeddedVectors } from './embedded.ts';
export { type QdrantOptions, createQdrantVectors } from './qdrant.ts';
export { type Near, type Point, type Vectors, VectorsFailure } from './vectors.ts';
