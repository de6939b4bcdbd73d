export { type DataDir, openDataDir } from './data-dir.ts';
export { type Table, type TableOptions, createTable } from './table.ts';
export { writeWhole } from './write-whole.ts';
