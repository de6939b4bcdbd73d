export { checkChanges, checkPaths } from './path-guard.ts';
export type {
  AcceptanceReport,
  ChangedFile,
  MergeOutcome,
  MergeRequest,
  PathFault,
  PathRules,
  ReadFile,
  Repositories,
  Repository,
  SafeFolder,
  Worktree,
} from './repository-types.ts';
