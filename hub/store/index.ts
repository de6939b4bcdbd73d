export {
  type DataDir,
  type RunningHub,
  announceRunning,
  checkDataDir,
  findHubId,
  findRunning,
  openDataDir,
  ownerKeyFile,
} from './data-dir.ts';
export { type KnownHub, findKnownHubs, findRunningCopy, noteHub } from './known-hubs.ts';
export { type Folder, createFolder } from './folder.ts';
export { type Journal, type JournalDisk, type JournalNeeds, createJournal } from './journal.ts';
export { callTokenFile, readKey, readOrMakeKey } from './key-file.ts';
export { readPrivate } from './private-file.ts';
export { type Table, createTable } from './table.ts';
export {
  type Backlog,
  type WriteFailure,
  type WriteFailureNeeds,
  createBacklog,
  createWriteFailures,
} from './write-failures.ts';
export { syncFolder, writeWhole } from './write-whole.ts';
