export { type DataDir, findHubId, openDataDir } from './data-dir.ts';
export { type Folder, createFolder } from './folder.ts';
export { type Journal, type JournalNeeds, createJournal } from './journal.ts';
export type { JournalDisk } from './journal-disk.ts';
export { callTokenFile, readKey, readOrMakeKey } from './key-file.ts';
export { type RunningHub, announceRunning, findRunning, ownerKeyFile } from './running-hub.ts';
export { type Table, createTable } from './table.ts';
export { type Backlog, type WriteFailure, createBacklog } from './write-failures.ts';
export { writeWhole } from './write-whole.ts';
