export type { ContextKind } from './context-kind.ts';
export { readContext } from './read-context.ts';
export { type TarFile, packFiles } from './tar.ts';
