export type { LogRun } from './log-types.ts';
export { type RunLogQuery, type Logs, type SourceLine, createLogs } from './logs.ts';
export type { SourceLog } from './source-log.ts';
