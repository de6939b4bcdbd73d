import type {
  AcceptanceReport,
  MergeOutcome,
  MergeRequest,
  PathRules,
  ReadFile,
  Repositories,
  Repository,
  SafeFolder,
  Worktree,
} from '#repositories';
import { caller } from '#helpers/principal';

/** A signal of tests that cancel nothing. */
export const { signal } = new AbortController();

export const anyPath: PathRules = { allowed: [], forbidden: [] };

/** Opens a repository as a client. */
export const openAsClient = (repositories: Repositories, path: string): Promise<Repository> =>
  repositories.open(path, caller, signal);

/** What was read of a file: its text, or why there is none. */
export const textOf = (file: ReadFile): string =>
  file.kind === 'text' ? file.text : `(${file.kind})`;

/** Writes files by their paths; undefined deletes one. */
export const writeInto = (
  worktree: Worktree,
  files: Readonly<Record<string, string | undefined>>,
  rules = anyPath,
): Promise<void> =>
  worktree.write(
    Object.entries(files).map(([path, content]) => ({ path, content })),
    rules,
    signal,
  );

export const mergeInto = (
  repository: Repository,
  request: Partial<MergeRequest> & Pick<MergeRequest, 'from'>,
): Promise<MergeOutcome> =>
  repository.merge(
    { into: 'main', message: 'Merge', strategy: 'fast_forward', ...request },
    signal,
  );

export async function readText(folder: SafeFolder, path: string): Promise<string | undefined> {
  return (await folder.read(path, 2 ** 20, signal))?.toString();
}

/** The exit codes of the commands, in order. */
export const exitCodesOf = ({ commands }: AcceptanceReport) =>
  commands.map(({ exitCode }) => exitCode);
