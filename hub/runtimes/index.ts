export {
  type Belonging,
  type BlockedTarget,
  type BuildSource,
  type BuiltImage,
  type DockerTarget,
  type EgressReport,
  type Exit,
  type ImagePruning,
  type ImageSource,
  type Instance,
  type LaunchEvents,
  type LaunchSpec,
  type ProcessTarget,
  type RemoteTarget,
  type Runtime,
  type Target,
  type Upkeep,
  type Usage,
  throwIfCancelled,
} from './runtime.ts';
export { whyNotBuilt } from './built-program.ts';
export { createStderrLines } from './stderr.ts';
