export { readBuildContext, readLock } from './image/build-context.ts';
export { type DockerRuntimeOptions, createDockerRuntime } from './docker.ts';
export type { Exposure } from './exposure.ts';
export { volumeName } from './container/options.ts';
export { type Holding, type Surveyor, createSurveyor } from './leftovers/survey.ts';
