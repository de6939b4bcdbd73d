export type { LogRun } from './log-types.ts';
export { type Logs, createLogs } from './logs.ts';
export type { SourceLog } from './source-log.ts';
export {
  type RunLogQuery,
  type SourceLine,
  hasStoredLogs,
  readStoredLogs,
  storedServers,
} from './stored-logs.ts';
