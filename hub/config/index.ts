export { type ApprovalsConfig, readApprovals } from './approvals-schema.ts';
export { type CatalogConfig, readCatalog } from './catalog-schema.ts';
export { readActivity } from './activity-schema.ts';
export { readAudit } from './audit-schema.ts';
export { type AgentsConfig, readAgents } from './agents-schema.ts';
export { type TasksConfig, readTasks } from './tasks-schema.ts';
export {
  type DocumentationConfig,
  type ObsidianConfig,
  readDocumentation,
} from './documentation.ts';
export { type ModelsConfig, costOf, readModels } from './models.ts';
export type { PolicyRule } from './policy-schema.ts';
export type { FanOutConfig } from './fan-out.ts';
export type { ProfileConfig } from './profiles-schema.ts';
export { type Config, type Naming, nameHashLength } from './config.ts';
export type { ClientConfig } from './clients.ts';
export { reservedClientNames, whyNoClientName } from './clients-schema.ts';
export type { LocalLaunch, RemoteLaunch, ServerConfig } from './normalize.ts';
export { ownServerConfig } from './own-server-config.ts';
export type { ToolSettings } from './policy.ts';
export type { PackageSpec } from './package-spec.ts';
export type { Sandbox } from './sandbox.ts';
export { changedKeysOf, diffConfigs, settingsToRestartFor } from './diff.ts';
export { type ConfigEditor, createConfigEditor, unwritable, whyUnwritable } from './edit/edit.ts';
export type { NextTools, ToolLists } from './edit/tools.ts';
export { type Environment, mergeEnvironment, variablesIn } from './variables.ts';
export { type Loosening, findLoosenings } from './loosenings.ts';
export { type Network, fixedNetwork, proxyPort, targetsOf } from './network.ts';
export { findPackage, nameOfPackage, pathsOfKnownPackage } from './package-spec.ts';
export {
  type ShippedFiles,
  createShippedFiles,
  encodingFault,
  readBytes,
  readFileWithin,
  readFlags,
  readSecretFiles,
  readValueOrFile,
  snapshotOf,
  utf16Fault,
} from './files.ts';
export { type PackageLine, findPackageLine, plainLine } from './package-line.ts';
export { createFileWatch } from './file-watch.ts';
export type { GuardedPlace } from './guarded-places.ts';
export { createBuildWatch } from './build-watch.ts';
export { createProcessGate } from './process-gate.ts';
export { type JsonText, loadJsonText } from './load-json-text.ts';
export { type ConfigReading, loadConfig, readConfig } from './load.ts';
export type { LoadOptions } from './mount-guard.ts';
export { type ConfigChange, createConfigSource } from './source.ts';
export { entryKeys } from './server-schema.ts';
export type { ReloaderNeeds } from './reloader.ts';
export { type Settings, dataDirOf, readSettings, secretsFolderOf } from './settings.ts';
export { type HubLayout, findLayout, isContainer, withLayout } from './layout.ts';
export { findUserFolders } from './user-folders.ts';
export { writeFirstConfig, writeNew } from './first-config.ts';
export { lineBreakOf, nextLine } from './splice.ts';
export { findClosest } from './suggest.ts';
export {
  type EnhancementRule,
  type EnhancementRules,
  type RulesSource,
  type RulesStatus,
  defaultRules,
  foldClientName,
  isClientName,
  modelsOf,
  openRules,
  readRules,
  ruleKeyOf,
  ruleOf,
} from './rules.ts';
export { defaultRulesFile } from './backends.ts';
export { rulesSchemaJson } from './rules-schema.ts';
export { schemaJson } from './schema.ts';
export { checkTags, requireTag, withTags } from './tags.ts';
export { mountWarnings, userForMounts } from './mount-access.ts';
export { examineMounts } from './mount-links.ts';
export { builtinNameOf, isBuiltinName, warningsOf } from './warnings.ts';
