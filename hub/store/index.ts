export { type DataDir, openDataDir, writeWhole } from './data-dir.ts';
