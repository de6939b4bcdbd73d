export {
  type Belonging,
  type DockerTarget,
  type Exit,
  type Instance,
  type LaunchEvents,
  type LaunchSpec,
  type PackageSource,
  type ProcessTarget,
  type RemoteTarget,
  type Runtime,
  type Target,
  type Upkeep,
  type Usage,
  throwIfCancelled,
} from './runtime.ts';
export { createStderrLines } from './stderr.ts';
