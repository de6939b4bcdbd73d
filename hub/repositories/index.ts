export { checkChanges, checkPaths } from './path-guard.ts';
export type {
  AcceptanceReport,
  MergeOutcome,
  MergeRequest,
  PathRules,
  ReadFile,
  Repositories,
  Repository,
  SafeFolder,
  Worktree,
} from './repository-types.ts';
