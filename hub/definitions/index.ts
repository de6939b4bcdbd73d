export { entryDigestFor } from './compare.ts';
export { type Definitions, createDefinitions } from './definitions.ts';
export { findLockFault, lockFileOf } from './lock-file.ts';
export { type ServerPins, lockText, parseLock } from './lock.ts';
export {
  type DefinitionComparison,
  type DefinitionPins,
  type PinReport,
  createPins,
} from './pins.ts';
export { visible } from './visible.ts';
