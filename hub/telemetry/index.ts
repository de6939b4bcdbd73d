export { type LogOptions, type OpenLog, createLog, openLog } from './log.ts';
