export { acceptanceLimits } from './acceptance.ts';
export { pathInDiff } from './changes.ts';
export type { ReadFile } from './file-types.ts';
export { checkChanges, checkPaths, pathFault } from './path-guard.ts';
export { createRepositories } from './repositories.ts';
export type {
  ChangedFile,
  MergeOutcome,
  MergeRequest,
  PathRules,
  Repositories,
  Repository,
  SafeFolder,
  Worktree,
} from './repository-types.ts';
