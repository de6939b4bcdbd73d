export { entryDigestFor } from './compare.ts';
export { type Definitions, createDefinitions } from './definitions.ts';
export { lockFileOf } from './lock-file.ts';
export { type DefinitionPins, type PinReport, createPins } from './pins.ts';
export { visible } from './visible.ts';
