export { readBuildContext, readLock } from './build-context.ts';
export { type DockerRuntimeOptions, createDockerRuntime } from './docker.ts';
export type { Exposure } from './exposure.ts';
export { volumeName } from './options.ts';
export { type Holding, type Surveyor, createSurveyor } from './survey.ts';
