export { maxAnswers } from './answers.ts';
export type { CatalogCard } from './card.ts';
export { type ServerCatalog, type CatalogNeeds, createLazyCatalog } from './lazy.ts';
export type { CatalogSource } from './registry.ts';
