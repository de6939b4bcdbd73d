export { readBuildContext, readLock } from './image/build-context.ts';
export { createDockerRuntime } from './docker.ts';
export type { HubPlaces } from './egress/protocol.ts';
export type { Exposure } from './exposure.ts';
export { createSurveyor } from './leftovers/survey.ts';
