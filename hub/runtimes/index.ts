export type {
  DockerTarget,
  Exit,
  Instance,
  LaunchEvents,
  LaunchSpec,
  Limits,
  Mount,
  PackageSource,
  ProcessTarget,
  RemoteTarget,
  Runtime,
  Target,
  Usage,
  Volume,
} from './runtime.ts';
export { createStderrLines } from './stderr.ts';
export type { Belonging, Upkeep } from './upkeep.ts';
