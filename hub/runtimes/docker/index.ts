export { readBuildContext } from './build-context.ts';
export { type DockerRuntimeOptions, createDockerRuntime } from './docker.ts';
