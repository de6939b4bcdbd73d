export {
  type Belonging,
  type BlockedTarget,
  type DockerTarget,
  type EgressReport,
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
