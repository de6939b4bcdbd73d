export { type ContextKind, kindOfFolder } from './context-kind.ts';
export { type BuildContext, type LeftOut, readContext } from './read-context.ts';
export { type TarFile, packFiles } from './tar.ts';
