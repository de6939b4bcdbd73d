export { type LogOptions, createLog } from './log.ts';
