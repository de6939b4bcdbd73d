export type {
  DockerTarget,
  Exit,
  Instance,
  LaunchEvents,
  LaunchSpec,
  PackageSource,
  ProcessTarget,
  RemoteTarget,
  Runtime,
  Target,
  Usage,
} from './runtime.ts';
export { createStderrLines } from './stderr.ts';
export type { Belonging, Upkeep } from './upkeep.ts';
