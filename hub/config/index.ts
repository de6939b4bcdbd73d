export type {
  Config,
  LocalLaunch,
  Naming,
  PackageSpec,
  RemoteLaunch,
  Sandbox,
  ServerConfig,
  Settings,
} from './config.ts';
export type { Environment } from './env.ts';
export { schemaJson } from './export.ts';
export { type PackagePlace, pathsOfKnownPackage } from './known-packages.ts';
export { type LoadOptions, loadConfig } from './load.ts';
export { readSettings } from './settings.ts';
export { withTags } from './tags.ts';
export { warningsOf } from './warnings.ts';
export { mergeEnvironment } from './variables.ts';
