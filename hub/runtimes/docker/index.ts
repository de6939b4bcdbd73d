export { readBuildContext } from './build-context.ts';
export { type DockerRuntimeOptions, createDockerRuntime } from './docker.ts';
export { type Holding, type Surveyor, createSurveyor } from './survey.ts';
