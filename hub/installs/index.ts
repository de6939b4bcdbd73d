export { createFolderUpkeep } from './folder-upkeep.ts';
export { type InstallJobs, createInstallJobs, installKind } from './install-jobs.ts';
export type { Installed } from './installed.ts';
export type { Installs, InstallsNeeds } from './installs.ts';
export {
  createLazyInstalls,
  createLazyUpgrades,
  readInstallOptions,
  draftLazily,
  maxUnfinished,
  readInstallBody,
  readTrialBody,
  tryServerLazily,
} from './lazy.ts';
export { createPins, registriesOf } from './pins.ts';
export type { InstallProgress, InstallRequest } from './request.ts';
export type { LeftBehind } from './removal.ts';
export { maxRollbacks } from './upgrades/rollbacks.ts';
export type { Upgrades, UpgradesNeeds } from './upgrades/upgrades.ts';
export type { FormField, InstallOption } from './form.ts';
